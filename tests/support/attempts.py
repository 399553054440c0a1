"""Attacks, each a line of shell that succeeds when it has reached what is not its own, and the play in which they run.

One table for the tests of the command line, those of the container, and the documentation; ``positions`` says from
where they are tried, and which of them are possible there by design. One session leaves something behind and ends, one
works beside the attackers with a key of its own until it is told to end. Whoever attacks runs all lines, and says on
stderr which it has tried and which have succeeded.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

# What the environment of the tool holds in these tests; the last one is another agent's alone.
TOKEN, RUNTIME_TOKEN, RUNNERS_KEY, JUDGES_KEY = "job-token", "runtime-token", "runners-key", "judges-key"
OTHERS_KEY = "others-key"
ENVIRONMENT = {
    "GITHUB_TOKEN": TOKEN,
    "ACTIONS_RUNTIME_TOKEN": RUNTIME_TOKEN,
    "ANTHROPIC_API_KEY": RUNNERS_KEY,
    "JUDGE_API_KEY": JUDGES_KEY,
}
SECRETS = f"{TOKEN}|{RUNTIME_TOKEN}|{RUNNERS_KEY}|{JUDGES_KEY}|{OTHERS_KEY}"
CONTENT = "content-of-the-closed-file"
# What is in the home of whoever starts the tool.
OPERATORS = {
    ".netrc": "machine example.com password secret",
    ".npmrc": "//registry.example.com/:_authToken=secret",
    ".docker/config.json": "{}",
    ".git-credentials": "https://t:secret@example.com",
}

Kept = Literal["refused", "possible", "varies"]
REFUSED, POSSIBLE, VARIES = "refused", "possible", "varies"


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """``real``: it succeeds, and does no harm, where root runs all as the caller; which is tried as well.

    ``ordinary``: what comes of it where an ordinary user runs all as the caller; ``varies``: that depends on the
    machine. ``suites``, ``judges``: programs that suites bring along, or those that judge, may do it by design, the
    latter also with their own process. ``path``: the file that is to be read, or ``folder``: the one that is to be
    written to, for those who name only files. ``step``: only a step of a job has what it looks for. ``waits``: a
    program in it asks for a password, and takes a second to be refused; meanwhile the others go on.
    """

    area: str
    words: str
    shell: str
    real: bool = False
    ordinary: Kept = REFUSED
    suites: bool = False
    judges: bool = False
    path: str = ""
    folder: str = ""
    step: bool = False
    waits: bool = False


def python(source: str, *arguments: str) -> str:
    """A program of several lines as a command."""
    return f"python3 -c '{source.strip()}' " + " ".join(arguments)


MEMORY = """
import sys
start = int(open(f"/proc/{sys.argv[1]}/maps").readline().split("-")[0], 16)
memory = open(f"/proc/{sys.argv[1]}/mem", "rb", 0)
memory.seek(start)
sys.exit(not memory.read(16))
"""
PLANT = ': >"$d/CLAUDE.md" && rm "$d/CLAUDE.md"'
LIBC = "import ctypes, sys; libc = ctypes.CDLL(None, use_errno=True); pid = int(sys.argv[1])"
SEIZE = f"{LIBC}; sys.exit(libc.ptrace(0x4206, pid, 0, 0) != 0)"
# To whom nothing is forbidden, there is nothing at the address 1: EFAULT.
READV = f"""{LIBC}
class Place(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
here, there = Place(ctypes.cast(ctypes.create_string_buffer(8), ctypes.c_void_p), 8), Place(1, 8)
libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
sys.exit(ctypes.get_errno() != 14)
"""
DESCRIPTORS = """
import os, sys
sys.exit(not [fd for fd in os.listdir("/proc/self/fd") if int(fd) > 2 and os.path.exists(f"/proc/self/fd/{fd}")])
"""
CONNECT = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"

# What comes of a line where nothing protects (``real``) and where an ordinary user runs it.
NEVER: Mapping[str, object] = {}
REAL: Mapping[str, object] = {"real": True}
OPEN: Mapping[str, object] = {"real": True, "ordinary": POSSIBLE}
SUITES: Mapping[str, object] = {**OPEN, "suites": True}
JUDGES: Mapping[str, object] = {**OPEN, "judges": True}
MACHINE: Mapping[str, object] = {"real": True, "ordinary": VARIES}
UNKNOWN: Mapping[str, object] = {"ordinary": VARIES}
# Variables that the lines find: see ``SCRIPT``.
BY_AREA: Mapping[str, tuple[tuple[str, str, Mapping[str, object]], ...]] = {
    "keys and tokens": (
        ("find tokens, keys, inputs or environment files in the attacker's own environment",
         f"env | grep -E '^(GITHUB|ACTIONS|INPUT)_|{SECRETS}'", NEVER),
        ("find tokens or keys in the environment of any process", f"cat /proc/*/environ | grep -aE '{SECRETS}'", OPEN),
        ("read the environment with which the tool was started", "cat /proc/$TOOL/environ",
         {**REAL, "path": "/proc/self/environ"}),
        ("read `.netrc`, `.npmrc`, `.docker/config.json` or `.git-credentials` of the user who started the tool",
         'cd "$OPERATOR"; cat .netrc || cat .npmrc || cat .docker/config.json || cat .git-credentials',
         {**OPEN, "path": "$OPERATOR/.netrc"}),
        ("read the credential in `.git/config` of the checkout", 'cat "$CHECKOUT/.git/config"',
         {**OPEN, "path": "$CHECKOUT/.git/config"}),
        ("use `git -C checkout config --list` to read the credential in `.git/config` of the checkout",
         'git -c "safe.directory=*" -C "$CHECKOUT" config --local --list', OPEN),
    ),
    "the tool": (
        ("read the memory of the tool through `/proc/PID/mem`",
         python(MEMORY, "$TOOL"), {**REAL, "path": "/proc/self/mem"}),
        ("read the memory of the tool with `process_vm_readv`", python(READV, "$TOOL"), REAL),
        ("trace the tool with `ptrace`", python(SEIZE, "$TOOL"), REAL),
        ("use file descriptors that the attacker inherited from the tool", python(DESCRIPTORS), NEVER),
        ("use the file descriptors of the tool through `/proc/PID/fd`",
         "ls /proc/$TOOL/fd", {**REAL, "path": "/proc/self/fd/0"}),
        ("open the working directory or the root directory of the tool through `/proc/PID/cwd` or `/proc/PID/root`",
         "ls /proc/$TOOL/cwd/ || ls /proc/$TOOL/root/", {**REAL, "path": "/proc/self/root/etc/hostname"}),
        ("send a signal to the tool", "kill -0 $TOOL", OPEN),
        ("make the tool the first victim of the kernel's OOM killer", "test -w /proc/$TOOL/oom_score_adj", REAL),
        ("change the code of the tool",
         'test -w "$PACKAGE" || test -w "$PACKAGE/cli.py"', {**MACHINE, "folder": "$PACKAGE"}),
        ("change Node.js, npm, git, Python or the shell",
         'for name in node npm git python3 sh; do test -w "$(command -v $name)" && exit 0; done; false', MACHINE),
        ("add a program to a folder in `PATH`",
         'IFS=:; for folder in $PATH; do test -w "$folder" && exit 0; done; false', MACHINE),
        ("change installed agents", "test -w /var/cache/skillgym-action", UNKNOWN),
        ("write to the terminal of the tool", ": >/dev/tty", NEVER),
        ("read the memory of the supervisor", python(MEMORY, "$SUPERVISOR"), REAL),
        ("use the file descriptors of the supervisor through `/proc/PID/fd`", "ls /proc/$SUPERVISOR/fd", REAL),
        ("trace the supervisor with `ptrace`", python(SEIZE, "$SUPERVISOR"), REAL),
        ("send a signal to the supervisor", "kill -0 $SUPERVISOR", OPEN),
        ("read or release the locks with which runs reserve user ids and close checkouts",
         "ls /run/skillgym-action || ls /var/lib/skillgym-action", NEVER),
    ),
    "suites and results": (
        ("list the files of the checkout", 'ls "$CHECKOUT"', SUITES),
        ("read the suite file", 'cat "$CHECKOUT/bench/2-attack.json"', SUITES),
        ("read the modules that the checks of the suite import", 'cat "$CHECKOUT/bench/checks.py"', SUITES),
        ("find the suite file in the workspace, which is a copy of the checkout", "cat bench/2-attack.json", NEVER),
        ("find the suite file in the git history of the workspace",
         "git log --all --name-only | grep bench/2-attack", NEVER),
        ("change the suite file", ': >>"$CHECKOUT/bench/2-attack.json"', OPEN),
        ("add a file to the checkout", ': >"$CHECKOUT/planted"', OPEN),
        ("add a hook to `.git` of the checkout", 'test -w "$CHECKOUT/.git/hooks"',
         {**OPEN, "folder": "$CHECKOUT/.git/hooks"}),
        ("list the files of the run directory", 'ls "$RESULTS"', OPEN),
        ("read the journal in the run directory", 'cat "$RESULTS/journal.jsonl"', OPEN),
        ("add a file to the run directory", ': >"$RESULTS/planted"', OPEN),
        ("reopen the log file of the attacker's own output through `/proc/PID/fd`", ": >>/proc/$$/fd/2", OPEN),
        ("create a hard link to the journal", 'ln "$RESULTS/journal.jsonl" "link-$$"', UNKNOWN),
        ("read the journal as root of a new user namespace",
         'unshare -Ur cat "$RESULTS/journal.jsonl"', UNKNOWN),
    ),
    "other agents": (
        ("find the folders of other agents in the temporary folder", 'ls "$(dirname "$OTHERS_WORKSPACE")/.."', OPEN),
        ("read the key in the environment of another agent", "cat /proc/$OTHER/environ", OPEN),
        ("read the memory of another agent", python(MEMORY, "$OTHER"), MACHINE),
        ("trace another agent with `ptrace`", python(SEIZE, "$OTHER"), MACHINE),
        ("use the file descriptors of another agent", "cat </proc/$OTHER/fd/0 || readlink /proc/$OTHER/fd/1", OPEN),
        ("open the workspace of another agent through `/proc/PID/cwd`", "ls /proc/$OTHER/cwd/", OPEN),
        ("open the workspace of another agent by its path, which the command line of a process shows",
         'ls "$OTHERS_WORKSPACE"', JUDGES),
        ("read the home of another agent", 'ls "$OTHERS_WORKSPACE/../home"', OPEN),
        ("send a signal to another agent", "kill -0 $OTHER", OPEN),
        ("replace the folders of another agent", 'test -w "$OTHERS_WORKSPACE/.."', OPEN),
        ("in the attacker's own session, replace the folders that the tool reads",
         'mv "$PWD" "$PWD-moved" && mv "$PWD-moved" "$PWD"', OPEN),
        ("add a file to the workspace of another agent", ': >"$OTHERS_WORKSPACE/planted"', JUDGES),
        ("add a file with instructions to a parent folder of a workspace, where agents search for such files",
         f'd=$OTHERS_WORKSPACE; while d=$(dirname "$d"); [ "$d" != / ]; do {PLANT} && exit; done; false', OPEN),
        ("read temporary files of an earlier agent",
         'ls "/tmp/left-$MARK" || ls "/var/tmp/left-$MARK" || ls "/dev/shm/left-$MARK"', OPEN),
        ("find a process that an earlier agent left running", 'grep -la "[s]tays-$MARK" /proc/*/cmdline', NEVER),
    ),
    "suite hosts": (
        ("read the memory of a suite host", python(MEMORY, "$HOST"), {**MACHINE, "judges": True}),
        ("read the environment of a suite host", "cat /proc/$HOST/environ", JUDGES),
        ("send a signal to a suite host", "kill -0 $HOST", JUDGES),
    ),
    "the machine": (
        ("read a file in a folder that only the user who started the tool can open", 'cat "$CLOSED/file.json"',
         {**OPEN, "path": "$CLOSED/file.json"}),
        ("add a file to a folder that only the user who started the tool can open",
         ': >"$CLOSED/planted" && rm "$CLOSED/planted"',
         {**OPEN, "folder": "$CLOSED/results"}),
        ("add a file through a symbolic link to a folder that only the user who started the tool can open",
         'ln -sfn "$CLOSED" out && : >out/planted && rm out/planted', OPEN),
        ("gain privileges from a setuid or setgid program",
         "sg root true & sg=$!; newgrp root </dev/null & new=$!; chfn -f x || wait $sg || wait $new", {"waits": True}),
        ("become root with `sudo`, `su` or `doas`",
         "sudo -n true || su root -c true </dev/null || doas -n true", {"waits": True}),
        ("read `/etc/shadow`", "cat /etc/shadow", {**REAL, "path": "/etc/shadow"}),
        ("change user accounts, the loader or the startup files of shells",
         "for file in /etc/passwd /etc/profile /etc/profile.d /etc; do test -w $file && exit 0; done; false",
         {**REAL, "folder": "/etc/skillgym-planted"}),
        ("schedule a program with cron",
         "for file in /etc/cron* /var/spool/cron /var/spool/cron/*; do test -w $file && exit 0; done; false", NEVER),
        ("make the kernel run a program through `core_pattern`", "test -w /proc/sys/kernel/core_pattern", NEVER),
        ("move the attacker's process to another control group",
         "test -w /sys/fs/cgroup/cgroup.procs || test -w /sys/fs/cgroup", UNKNOWN),
        ("mount a file system", "mount -t tmpfs none /mnt", NEVER),
        ("read a disk or the memory of the machine",
         "find /dev -maxdepth 1 '(' -type b -o -name '*mem' ')' -exec head -c 1 {} ';' | grep -q .",
         {"ordinary": VARIES, "path": "/dev/zero"}),
        ("load a kernel module or trace the kernel", "test -w /sys/kernel/debug || test -w /dev/kmsg", UNKNOWN),
    ),
}  # fmt: skip
OF_A_STEP: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "read the environment files of the step, such as `GITHUB_ENV`": ('cat "$COMMANDS"/*', REAL),
    "write to the environment files of the step": (
        'for file in "$COMMANDS"/*; do : >>"$file" && exit 0; done; false',
        {**REAL, "folder": "$COMMANDS/planted"},
    ),
    "read the event payload": ('cat "$EVENT"', {**REAL, "path": "$EVENT"}),
    "list the files in the home folder of the job": ('ls "$JOBHOME"', REAL),
    "read the files that other steps left": ('cat "$TEMP"/of-a-step/*', REAL),
    "read the token that `actions/checkout` keeps for later steps": (
        'cat "$TEMP"/git-credentials-* || cat "$TEMP/$CREDENTIALS"',
        {**REAL, "path": "$TEMP/$CREDENTIALS"},
    ),
    "connect to the Docker engine": (f"test -r $SOCKET || test -w $SOCKET || {python(CONNECT, '$SOCKET')}", {}),
}
# Where these are in the container of the action, and what other steps left in the runner's temporary folder.
IN_ACTION = {
    "commands": "/github/file_commands",
    "event": "/github/workflow/event.json",
    "jobhome": "/github/home",
    "temp": "/github/runner_temp",
    "credentials": "git-credentials-4711.config",
}
OF_OTHER_STEPS = {IN_ACTION["credentials"]: f"[http]\n\textraheader = {TOKEN}\n", "of-a-step/key": "another step's"}
ATTEMPTS: tuple[Attempt, ...] = (
    *(
        Attempt(area=area, words=words, shell=shell, **kinds)  # type: ignore[arg-type]
        for area, lines in BY_AREA.items()
        for words, shell, kinds in lines
    ),
    *(
        Attempt(area="the job", words=words, shell=shell, step=True, **kinds)  # type: ignore[arg-type]
        for words, (shell, kinds) in OF_A_STEP.items()
    ),
)

# To be used as ``sh SCRIPT PART``, or ``sh SCRIPT attack POSITION`` in a workspace, or with ``sh -c``.
SCRIPT = r"""
@PLACES@
TOOL=$PPID SUPERVISOR=
while [ "$TOOL" -gt 1 ]; do
  case $(tr '\0' ' ' <"/proc/$TOOL/cmdline") in
    *supervisor.supervisor*) SUPERVISOR=$TOOL ;;
    *python[_]host*) ;;
    *skillgym[-_]action*) break ;;
  esac
  TOOL=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$TOOL/status")
done
leave() {
  for folder in /tmp /var/tmp /dev/shm; do mkdir "$folder/left-$MARK"; echo left >"$folder/left-$MARK/file"; done
  setsid sh -c 'sleep 300; :' "stays-$MARK" &
}
work() {
  exec env KEY=@KEY@ sh -c 'until test -e "/tmp/done-$2"; do sleep 0.1; done' "works-$MARK" "$PWD" "$MARK"
}
rest() {
  echo done
}
wait_and_attack() {
  : >"/tmp/begun-$MARK"
  until test -e "/tmp/go-$MARK"; do sleep 0.1; done
  attack "$1"
}
found_other() {
  OTHER=$(grep -lzx "works-[$FIRST]$REST" /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3 | sort -n | head -n 1)
  test "$OTHER" && OTHERS_WORKSPACE=$(tr '\0' '\n' <"/proc/$OTHER/cmdline" | tail -n 2 | head -n 1)
}
found_host() { # the suite host of this run
  for HOST in $(grep -la '[p]ython_host' /proc/[0-9]*/cmdline 2>/dev/null | cut -d/ -f3); do
    above=$HOST
    while [ "$above" -gt 1 ]; do
      [ "$above" = "$SUPERVISOR" ] && return
      above=$(sed -n 's/^PPid:[[:space:]]*//p' "/proc/$above/status")
    done
  done
  HOST=
}
finish() {
  found_other
  : >"/tmp/done-$MARK"
  while test -d "/proc/$OTHER"; do sleep 0.1; done
}
say() {
  echo "$MARK $POSITION: $1 $2" >&2
}
tried() { # tried NUMBER COMMAND: in a process of its own
  say tried "$1"
  if (eval "$2") >/dev/null 2>&1 </dev/null; then say reached "$1"; fi
}
attack() {
  POSITION=$1
  until found_other; do sleep 0.1; done
  found_host
  say user "$(id -u)"
  python3 -c pass && test "$OTHER" && test "$SUPERVISOR" && test "$HOST" && say able 0
@ATTEMPTS@
  wait
  echo done
}
REST=${MARK#?} FIRST=${MARK%"$REST"}
"$@"
"""


def script(attempts: Iterable[Attempt], mark: str, **places: str | Path) -> str:
    """The program of everybody in the play.

    ``places``: checkout, results, operator (whose home it is), package (of the tool), closed (a folder), socket (of
    the Docker engine), and in a job those of ``IN_ACTION``.
    """
    named = {"MARK": mark, **{name.upper(): str(place) for name, place in places.items()}}
    lines = (
        f"  tried {number} {shlex.quote(attempt.shell)}{' &' if attempt.waits else ''}"
        for number, attempt in enumerate(attempts)
    )
    told = {
        "@PLACES@": " ".join(f"{name}={shlex.quote(place)}" for name, place in named.items()),
        "@KEY@": OTHERS_KEY,
        "@ATTEMPTS@": "\n".join(lines),
    }
    text = SCRIPT
    for sign, meaning in told.items():
        text = text.replace(sign, meaning)
    return text


def said(mark: str, results: Path) -> dict[str, dict[str, list[int]]]:
    """What all programs of the play have said in the logs of a run: position -> word -> numbers."""
    line = re.compile(rf"^{mark} ([\w -]+): (\w+) (\d+)$", re.MULTILINE)
    found: dict[str, dict[str, list[int]]] = {}
    for log in sorted(results.rglob("*.log")):
        for position, word, number in line.findall(log.read_text(encoding="utf-8", errors="replace")):
            found.setdefault(position, {}).setdefault(word, []).append(int(number))
    return found
