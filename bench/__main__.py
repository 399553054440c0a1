"""How fast the tool is, beside a floor measured in the same run: ``make bench``.

Figures are medians of whole processes; what counts is the ratio, since machines differ. On a virtual machine, wall time
also depends on its neighbours: the last line is the time that they took, and rows about many sessions have CPU seconds.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, NamedTuple

CASES = 1000
JOBS = 8
ROUNDS = 3
FILES = 100_000
SINKS = ((10_000, 1.5, 150), (100_000, 12, 500))  # results, seconds, megabytes
TOOL = shutil.which("skillgym-action", path=os.fspath(Path(sys.executable).parent)) or "skillgym-action"

FLOOR = """
import subprocess, sys, tempfile
from concurrent.futures import ThreadPoolExecutor
def one(number):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["sh", sys.argv[1]], cwd=folder, check=True, input=b"write out.txt", stdout=subprocess.DEVNULL)
with ThreadPoolExecutor(int(sys.argv[3])) as pool:
    list(pool.map(one, range(int(sys.argv[2]))))
"""


class Taken(NamedTuple):
    """Seconds of a whole process: wall time, and CPU time together with its descendants."""

    wall: float
    cpu: float


def taken_by(argv: list[str], cwd: Path) -> Taken:
    """What one whole process takes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(argv, cwd=cwd, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Taken(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def processor_ticks() -> tuple[int, int]:
    """Of all processors since the start of the machine: ticks that other machines took, and all ticks."""
    user, nice, system, idle, waiting, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text(encoding="ascii").split()[1:9]
    )
    return steal, user + nice + system + idle + waiting + irq + softirq + steal


def peak_megabytes(argv: list[str], cwd: Path) -> float:
    """Peak resident memory of the process and of its largest descendant, measured by a process of its own."""
    code = (
        "import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL,"
        " stderr=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    ran = subprocess.run([sys.executable, "-c", code, *argv], cwd=cwd, check=True, capture_output=True, text=True)
    return int(ran.stdout) / 1024


def suite(folder: Path, cases: int) -> Path:
    """A folder with a suite of trivial cases, an agent that writes its prompt to a file, and a configuration for it."""
    folder.mkdir()
    (folder / "template").mkdir()
    agent = folder / "agent.sh"
    agent.write_text("cat > out.txt\n")
    entries = [
        {"id": f"case-{number}", "prompt": "write out.txt", "expect": ["file:out.txt contains 'write'"]}
        for number in range(cases)
    ]
    workspace = {"templateDir": "template"}
    (folder / "trivial.bench.json").write_text(
        json.dumps({"name": "trivial", "workspace": workspace, "cases": entries})
    )
    config = {"runners": {"script": {"agent": {"type": "command", "command": ["sh", os.fspath(agent)]}}}}
    (folder / "skillgym.config.json").write_text(json.dumps(config))
    return agent


def medians(commands: dict[str, list[str]], cwd: Path, rounds: int, rest: float = 0.0) -> dict[str, Taken]:
    """Medians, the commands in turn, so that a slow moment of the machine hits all of them.

    ``{round}`` in a command is the round's number. ``rest``: seconds before each; a file system that has just freed
    many inodes is slow to give new ones.
    """
    times: dict[str, list[Taken]] = {name: [] for name in commands}
    for number in range(rounds + 1):
        for name, argv in commands.items():
            time.sleep(rest)
            times[name].append(taken_by([part.replace("{round}", str(number)) for part in argv], cwd))
    return {name: Taken(*map(statistics.median, zip(*values[1:], strict=True))) for name, values in times.items()}


def row(name: str, figure: str, target: str, *, met: bool) -> bool:
    """One line of the table."""
    print(f"{name:<58} {figure:>22}   {target:<16} {'met' if met else 'MISSED'}")
    return met


def throughput(folder: Path) -> list[bool]:
    """The lines of the table about many trivial cases, against a bare thread pool that starts the same programs."""
    agent = suite(folder / "many", CASES)
    ours = [TOOL, "run", "many", "--jobs", str(JOBS), "--output", os.fspath(folder / "run-{round}")]
    floor = [sys.executable, "-c", FLOOR, os.fspath(agent), str(CASES), str(JOBS)]
    taken = medians({"ours": ours, "floor": floor}, folder, ROUNDS, rest=6.0)
    memory = peak_megabytes([*ours[:-1], os.fspath(folder / "run")], folder)
    title = f"{CASES} trivial cases, --jobs {JOBS}, against a bare thread pool"
    return [
        ratio(title, taken["ours"].wall, taken["floor"].wall, 1.5),
        ratio("CPU of that", taken["ours"].cpu, taken["floor"].cpu, 1.5),
        row("peak memory of that run", f"{memory:.0f} MB", "at most 80 MB", met=memory <= 80),
    ]


def measured(module: str, *arguments: str) -> Any:
    """What a module of ours prints, of a process of its own."""
    argv = [sys.executable, "-m", f"bench.{module}", *arguments]
    return json.loads(subprocess.run(argv, cwd=Path(__file__).parents[1], check=True, capture_output=True).stdout)


def sinks() -> list[bool]:
    """The lines of the table about reports of large runs."""
    met = []
    for number, seconds, megabytes in SINKS:
        ours, floor = measured("sinks", str(number)), measured("sinks", str(number), "floor")
        figure = f"{ours['seconds']:.2f} s / {floor['seconds']:.2f} s"
        title = f"{number:,} results to every report, against one json.dumps"
        met.append(row(title, figure, f"under {seconds} s", met=ours["seconds"] < seconds))
        figure = f"{ours['megabytes']:.0f} MB / {floor['megabytes']:.0f} MB"
        met.append(row("peak memory of that", figure, f"under {megabytes} MB", met=ours["megabytes"] < megabytes))
    return met


def typescript() -> list[bool]:
    """The lines of the table about a TypeScript suite, here and with skillgym for Node.

    Several sessions at once wait for the processors, not for us: what both gain by that has no target.
    """
    both, met = measured("typescript"), []
    for how, title in (("", "1000 cases in TypeScript"), (" at once", "the same, 8 at once")):
        ours, theirs = both[f"ours{how}"], both[f"theirs{how}"]
        for what, unit, limit in (("seconds", "s", 0.3), ("megabytes", "MB", 0.6)):
            ratio = ours[what] / theirs[what]
            figure = f"{ours[what]:.1f} {unit} / {theirs[what]:.1f} {unit} = {ratio:.2f}"
            named = f"{title}, against skillgym" if what == "seconds" else "peak memory of that"
            if how and what == "seconds":
                print(f"{named:<58} {figure:>22}")
            else:
                met.append(row(named, figure, f"at most {limit}", met=ratio <= limit))
    return met


def agentv() -> list[bool]:
    """The lines of the table about tests of an AgentV suite on a mock target, here and with AgentV."""
    both = measured("agentv")
    ours, theirs = both["ours"], both["theirs"]
    ratio, memory = ours["seconds"] / theirs["seconds"], f"{ours['megabytes']:.0f} MB / {theirs['megabytes']:.0f} MB"
    return [
        row(
            "200 mock tests of an AgentV suite, against AgentV",
            f"{ours['seconds']:.2f} s / {theirs['seconds']:.2f} s = {ratio:.2f}",
            "under 1 s",
            met=ours["seconds"] < 1,
        ),
        row("peak memory of that", memory, "under 100 MB", met=ours["megabytes"] < 100),
    ]


def shards() -> list[bool]:
    """The lines of the table about a run in shards: planning, balance, merging."""
    plan, balance, met = measured("shards", "plan"), measured("shards", "balance"), []
    title = "10,000 cases in 256 shards: list --matrix --plan"
    met.append(row(title, f"{plan['seconds']:.2f} s", "under 2 s", met=plan["seconds"] < 2))
    met.append(row("peak memory of that", f"{plan['megabytes']:.0f} MB", "under 100 MB", met=plan["megabytes"] < 100))
    longest = balance["recorded time"]
    figure = f"{longest:.2f} (every N-th: {balance['every N-th']:.2f})"
    met.append(row("2,000 cases in 64 shards, longest over ideal", figure, "at most 1.15", met=longest <= 1.15))
    for number, found in measured("shards", "merge").items():
        figure = f"{found['seconds']:.1f} s, {found['megabytes']:.0f} MB"
        good = found["seconds"] < 6 and found["megabytes"] < 180
        met.append(row(f"10,000 results of {number} shards merged", figure, "6 s, 180 MB", met=good))
    return met


def template(folder: Path) -> None:
    """A folder with 100,000 small files."""
    for part in range(FILES // 250):
        (folder / str(part)).mkdir(parents=True)
        for file in range(250):
            (folder / str(part) / str(file)).write_bytes(b"x" * 100)


def isolation() -> list[bool]:
    """The lines of the table about keeping sessions apart, in CPU seconds; ``BEFORE`` names another tool to compare."""
    before = os.environ.get("BEFORE")
    found, met = measured("isolation", *([before] if before else [])), []
    for kind, title, times, limit in (
        ("caller", "as the caller", 3.0, 1.2),
        ("user", "as own users", 6.0, 1.35),
    ):
        if taken := found["sessions"].get(kind):
            name = f"{CASES} cases {title}, CPU"
            for other, what, most in (("floor", "a thread pool", times), ("before", "BEFORE", limit)):
                if other in taken:
                    met.append(ratio(f"{name}, against {what}", taken["now"], taken[other], most))
    added = found["starts"]["bare"] - found["starts"]["python"]
    met.append(row("start with an empty environment, added", f"{added:.0f} ms", "at most 60 ms", met=added <= 60))
    supervisor = found["supervisor"]
    met.append(row("memory of the supervisor", f"{supervisor:.1f} MB", "at most 16 MB", met=supervisor <= 16))
    copies = found["copies"]
    met.append(ratio(f"a copy of {FILES:,} files, CPU, against cp -a", copies["now"], copies["floor"], 1.3))
    return met


def ratio(name: str, ours: float, other: float, most: float) -> bool:
    """One line of the table, about seconds against others."""
    figure = f"{ours:.2f} s / {other:.2f} s = {ours / other:.2f}"
    return row(name, figure, f"at most {most}", met=ours / other <= most)


def many_files(folder: Path) -> list[bool]:
    """The lines of the table about a session in a copy of a template with 100,000 files, against cp and rm."""
    suite(folder / "files", 1)
    template(folder / "files/template")
    run = [TOOL, "run", "files", "--output", os.fspath(folder / "files-{round}")]
    copy = ["sh", "-c", "cp -a files/template files-copy && rm -r files-copy"]
    taken = medians({"ours": run, "floor": copy}, folder, 2)
    memory = peak_megabytes([*run[:-1], os.fspath(folder / "files-run")], folder)
    shutil.rmtree(folder / "files")
    return [
        ratio(f"a template of {FILES:,} files, against cp and rm", taken["ours"].wall, taken["floor"].wall, 4),
        row("peak memory of that", f"{memory:.0f} MB", "under 200 MB", met=memory < 200),
    ]


def main() -> int:
    """Print the table; 1 when a target is missed.

    ``BENCH_DIR`` names another place to work in, ``BEFORE`` another ``skillgym-action`` to compare with.
    """
    began = processor_ticks()
    # In memory where that is possible: what a disk's journal makes of ten thousand new files is another question.
    memory_backed = Path("/dev/shm")
    place = memory_backed if os.access(memory_backed, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="bench-", dir=os.environ.get("BENCH_DIR", place)) as temporary:
        folder = Path(temporary)
        folder.chmod(0o711)  # users of sessions reach their own folders below it
        os.environ["TMPDIR"] = temporary
        suite(folder / "one", 1)
        one = [TOOL, "run", "one", "--output", os.fspath(folder / "one-{round}")]
        python = [sys.executable, "-c", "pass"]
        small = medians(
            {"python": python, "help": [TOOL, "--help"], "version": [TOOL, "--version"], "one": one}, folder, 11
        )
        many = throughput(folder)
        met = [
            *many,
            *(
                row(title, f"{small[name].wall * 1000:.0f} ms", "under 150 ms", met=small[name].wall < 0.15)
                for name, title in (("help", "--help"), ("version", "--version"), ("one", "one trivial case"))
            ),
            *sinks(),
            *shards(),
            *typescript(),
            *agentv(),
            *many_files(folder),
            *isolation(),
        ]
        print(f"{'for comparison: python -c pass':<58} {small['python'].wall * 1000:>19.0f} ms")
    stolen, ticks = (now - then for now, then in zip(processor_ticks(), began, strict=True))
    print(f"{'processor time that other virtual machines took':<58} {stolen / ticks:>22.0%}")
    return 0 if all(met) else 1


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    sys.exit(main())
