"""``tools/install.sh`` with stand-ins for the programs of the machine: what it reports, and what it starts."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from paths import REPOSITORY
from scratch import HUNG

SHELL = "#!/bin/sh\n"
NOTE = 'echo "${0##*/} $*" >>"$LOG"\n'
# A Python that answers the questions of the script; what `-m venv` makes of it can do the same.
PYTHON = """\
case "$*" in
  --version) echo Python 3.12.1 ;;
  *ensurepip*) exit ${NO_ENSUREPIP:-0} ;;
  *disk_usage*) echo ${FREE:-100000} ;;
  *pip._internal*) exit ${NO_PIP:-0} ;;
  "-m venv --clear .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
  "-m pip install"*) exit ${PIP:-0} ;;
esac
"""
UNAME = "case $1 in -s) echo Linux ;; *) echo x86_64 ;; esac\n"
MADE = "python3 -m venv --clear .venv"


class Machine:
    """A copy of the script, and a folder of programs: no others are on PATH."""

    def __init__(self, folder: Path) -> None:
        self.root, self.programs, self.log = folder / "checkout", folder / "bin", folder / "log"
        (self.root / "tools").mkdir(parents=True)
        self.programs.mkdir()
        self.log.touch()
        shutil.copy(REPOSITORY / "tools/install.sh", self.root / "tools")
        for name in ("cp", "dirname", "mkdir", "touch"):
            self.has(name, f'exec {shutil.which(name)} "$@"')
        self.has("git", "")
        self.has("uname", UNAME)
        self.has("python3", NOTE + PYTHON)

    def has(self, name: str, script: str) -> None:
        self.write(self.programs / name, script)

    def has_environment(self, python: str = PYTHON) -> None:
        self.write(self.root / ".venv/bin/python", NOTE + python)

    def write(self, path: Path, script: str) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SHELL + script)
        path.chmod(0o755)

    def installs(self, **env: str) -> tuple[int, list[str]]:
        """Exit code and messages of ``tools/install.sh test``."""
        argv = (shutil.which("bash") or "bash", self.root / "tools/install.sh", "test")
        variables = {"PATH": str(self.programs), "LOG": str(self.log), **env}
        ran = subprocess.run(argv, cwd="/", env=variables, capture_output=True, text=True, check=False, timeout=HUNG)
        assert ran.stdout == ""
        return ran.returncode, ran.stderr.splitlines()

    def missing(self, **env: str) -> list[str]:
        """What is reported as missing; nothing may be installed then."""
        code, (first, *lines) = self.installs(**env)
        assert (code, first) == (1, "Missing on this machine; nothing has been installed:")
        assert not self.started("-m ")
        return [line.strip() for line in lines]

    def started(self, words: str) -> list[str]:
        """The commands with those words."""
        return [line for line in self.log.read_text().splitlines() if words in line]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


BY_HAND = "install it with the package manager of this system"


def test_a_machine_with_everything_gets_an_environment_and_packages(machine):
    code, lines = machine.installs()
    assert (code, lines[0]) == (0, "install: creating .venv with Python 3.12.1")
    assert machine.started("-m venv") == [MADE]
    assert machine.started("requirements/test.txt") == [
        "python -m pip install --quiet --compile --no-deps --requirement requirements/test.txt"
    ]
    assert (machine.root / ".venv/test").exists()


def test_missing_git_is_reported(machine):
    (machine.programs / "git").unlink()
    assert machine.missing() == [f"git: {BY_HAND}"]


def test_a_missing_python_is_reported_without_a_message_of_the_shell(machine):
    (machine.programs / "python3").unlink()
    assert machine.missing() == [f"Python 3.11 or newer (found: none): {BY_HAND}"]


def test_an_old_python_is_reported_with_its_version(machine):
    machine.has("python3", "case $1 in --version) echo Python 3.9.2 ;; *) exit 1 ;; esac")
    machine.has("apt-get", "")
    (found,) = machine.missing()
    assert found.startswith("Python 3.11 or newer (found: Python 3.9.2): apt-get install python3 python3-venv")


def test_a_python_without_ensurepip_is_reported_even_with_uv_unless_there_is_an_environment(machine):
    machine.has("uv", NOTE)
    machine.has("apt-get", "")
    assert machine.missing(NO_ENSUREPIP="1") == ["Python's module ensurepip: apt-get install python3-venv"]
    machine.has_environment()
    assert machine.installs(NO_ENSUREPIP="1")[0] == 0


def test_too_little_disk_is_reported(machine):
    needed = f"600 MB of disk in {machine.root} (free: 599 MB): make clean, or free some space"
    assert machine.missing(FREE="599") == [needed]
    assert machine.installs(FREE="600")[0] == 0
    assert machine.installs(FREE="0")[0] == 0  # the packages are there


def test_an_environment_that_works_stays(machine):
    machine.has_environment()
    assert machine.installs()[0] == 0
    assert machine.started("-m venv") == []


def test_a_half_made_environment_is_made_anew(machine):
    machine.has_environment("exit 1")
    machine.write(machine.root / ".venv/bin/pip", "")
    assert machine.installs()[0] == 0
    assert machine.started("-m venv") == [MADE]


def test_an_environment_whose_python_is_gone_is_made_anew(machine):
    machine.has_environment()
    (machine.root / ".venv/bin/python").unlink()
    (machine.root / ".venv/bin/python").symlink_to(machine.root / "gone")
    machine.has("cp", 'rm=$(readlink "$2") && unlink "$2"; exec /bin/cp "$@"')
    assert "install: creating .venv with Python 3.12.1" in machine.installs()[1]
    assert machine.started("-m venv") == [MADE]


def test_an_environment_that_uv_cannot_make_is_made_by_python(machine):
    machine.has("uv", NOTE + "case $1 in venv) exit 2 ;; esac")
    code, lines = machine.installs()
    assert (code, lines[1]) == (0, "install: uv venv failed (exit code 2): using python -m venv")
    assert machine.started("venv --") == [
        f"uv venv --quiet --seed --clear --python {machine.programs}/python3 .venv",
        MADE,
    ]
    assert not machine.started("-m pip")


@pytest.mark.parametrize("has_uv", [True, False])
def test_packages_that_cannot_be_downloaded_end_it_with_one_line(machine, has_uv):
    if has_uv:
        machine.has("uv", "case $1 in pip) exit 2 ;; esac\n" + "mkdir -p .venv/bin && cp $LOG.python .venv/bin/python")
        machine.write(Path(f"{machine.log}.python"), NOTE + PYTHON)
    code, lines = machine.installs(PIP="7")
    assert code == 7
    assert lines[-2] == ("install: uv failed (exit code 2): using pip" if has_uv else lines[-2])
    assert lines[-1] == (
        "install: packages are downloaded from a package index, and could not be installed "
        "(exit code of pip: 7): check the network"
    )
    assert not (machine.root / ".venv/test").exists()
