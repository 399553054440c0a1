"""Files that agents wrote, as they leave us: no key in their content, names and links, and what was found is told."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from folders import opened
from scratch import written
from skillgym_action.results.run_directory import CHUNK, RedactedFiles
from skillgym_action.system.files.packing import folder_entries
from skillgym_action.text.redaction import Redactor

SECRET = "s3cret/value+1"
GITHUB = "ghp_" + "a1B2" * 9


@pytest.fixture
def files():
    return RedactedFiles(Redactor([SECRET]))


def kinds(found):
    return {path: sorted(leak.kind for leak in leaks) for path, leaks in found.items()}


def everything_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_what_was_found_is_told_by_its_path(tmp_path, files):
    written(tmp_path, {"a.txt": f"{SECRET} {GITHUB}", "d/b.txt": "nothing", "d/c.txt": GITHUB})
    found = files.clean(tmp_path, ("a.txt", "d", "d/b.txt", "d/c.txt", "missing"))
    assert kinds(found) == {"a.txt": ["github", "secret"], "d/c.txt": ["github"]}
    assert (tmp_path / "a.txt").read_text() == "*** ***"
    assert SECRET not in repr(found)


@pytest.mark.parametrize("name", [f"{GITHUB}.txt", f"{GITHUB}/inside.txt", f"d/x{GITHUB}y"])
def test_what_is_called_like_a_secret_goes(tmp_path, files, name):
    written(tmp_path, {name: "content", "d/other.txt": "stays"})
    paths = everything_in(tmp_path)
    found = files.clean(tmp_path, paths)
    assert everything_in(tmp_path) == ["d", "d/other.txt"]
    assert all("***" in path for path in found)
    assert set(map(tuple, kinds(found).values())) == {("github",)}


def test_a_folder_without_files_goes_as_well(tmp_path, files):
    (tmp_path / GITHUB).mkdir()
    assert kinds(files.clean(tmp_path, [GITHUB])) == {"***": ["github"]}
    assert everything_in(tmp_path) == []


@pytest.mark.parametrize("target", [GITHUB, f"../{GITHUB}/x", f"/nowhere/{SECRET}"])
def test_a_link_that_tells_a_secret_goes(tmp_path, files, target):
    (tmp_path / "link").symlink_to(target)
    (tmp_path / "other").symlink_to("nowhere")
    assert list(files.clean(tmp_path, ["link", "other"])) == ["link"]
    assert everything_in(tmp_path) == ["other"]


def test_a_link_is_never_followed(tmp_path, files):
    written(tmp_path, {"outside.txt": SECRET})
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/link").symlink_to("../outside.txt")
    assert files.clean(tmp_path / "inside", ["link"]) == {}
    assert (tmp_path / "outside.txt").read_text() == SECRET


@pytest.mark.parametrize("name", ["x" * 255, "a\nb", "-rf", "\udcff", " ", "é" * 120])
def test_odd_names_are_rewritten_like_others(tmp_path, files, name):
    path = tmp_path / name
    path.write_text(f"#!/bin/sh\n{SECRET}")
    path.chmod(0o751)
    assert kinds(files.clean(tmp_path, [name])) == {name: ["secret"]}
    assert path.read_text() == "#!/bin/sh\n***"
    assert path.stat().st_mode & 0o777 == 0o751
    assert list(tmp_path.iterdir()) == [path]


def test_what_has_a_longer_path_than_systems_take_goes(tmp_path, files):
    dig = f"import os\nfor _ in range(1500): os.mkdir('ddd'); os.chdir('ddd')\nopen('x', 'w').write('{GITHUB}')"
    subprocess.run([sys.executable, "-c", dig], cwd=tmp_path, check=True)
    way = "ddd/" * 1000
    assert files.clean(tmp_path, [f"{way}x", f"{way}{GITHUB}"]).keys() == {f"{way}***"}
    assert (tmp_path / "ddd").is_dir()
    found = files.clean(tmp_path, [f"{'ddd/' * 20}ddd", f"{'ddd/' * 1010}ddd"])
    assert found == {}
    with opened(tmp_path) as folder:
        assert len(folder.snapshot()) == 1010


def test_what_was_never_saved_is_no_error(tmp_path, files):
    written(tmp_path, {"file": "x"})
    assert files.clean(tmp_path / "missing", ["a", GITHUB]).keys() == {"***"}
    assert files.clean(tmp_path, ["file/below"]) == {}


def test_what_is_no_file_is_not_opened(tmp_path, files):
    os.mkfifo(tmp_path / "fifo")
    assert files.clean(tmp_path, ["fifo"]) == {}


def test_looking_changes_nothing(tmp_path, files):
    written(tmp_path, {"a.txt": SECRET})
    (tmp_path / GITHUB).symlink_to(f"to {SECRET}")
    (tmp_path / "b.txt").write_text("nothing")
    with opened(tmp_path) as folder:
        found = files.look(folder_entries(folder))
    assert kinds(found) == {"***": ["github", "secret"], "a.txt": ["secret"]}
    assert (tmp_path / "a.txt").read_text() == SECRET


@pytest.mark.slow
@pytest.mark.parametrize("border", [CHUNK, 2 * CHUNK - 32_768])
def test_a_key_is_hidden_wherever_a_piece_of_a_large_file_ends(tmp_path, files, proved, border):
    log = tmp_path / "stdout.log"
    around = b"x" * (border - len(SECRET) - 1)
    for at in range(0, len(SECRET) + 3, 5):
        log.write_bytes(around[at:] + b" " + SECRET.encode() + b" " + b"y" * CHUNK + b"\xff")
        assert [leak.kind for leak in files.rewrite(log)] == ["secret"]
        assert log.read_bytes().strip(b"x") == b" *** " + b"y" * CHUNK + b"\xff"
        proved("text", "keys split over two pieces of a file, hidden")


FULL = """
import resource, signal, sys
from pathlib import Path
from skillgym_action.results.run_directory import RedactedFiles
from skillgym_action.text.redaction import Redactor

path = Path(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    RedactedFiles(Redactor([sys.argv[2]])).rewrite(path)
except OSError as error:
    print(error.strerror)
"""


def test_what_cannot_be_rewritten_is_emptied(tmp_path):
    written(tmp_path, {"big.log": f"{SECRET}\n" + "x" * 5_000})
    argv = [sys.executable, "-c", FULL, tmp_path / "big.log", SECRET]
    ran = subprocess.run(argv, capture_output=True, text=True, check=True)
    assert ran.stdout == "File too large\n"
    assert (tmp_path / "big.log").read_bytes() == b""
    assert everything_in(tmp_path) == ["big.log"]
