# ruff: noqa: PTH116, PTH208

from __future__ import annotations

import io
import os
import struct
import subprocess
import sys
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from folders import NAMES, as_plain_user, digging, opened, special, tree
from scratch import written
from skillgym_action.system.files.artifact_links import with_safe_links
from skillgym_action.system.files.bundle import (
    END,
    HEADER,
    SMALL_FILE_BYTES,
    START,
    BundleEntry,
    BundleError,
    BundleLimits,
    read_bundle,
    write_bundle,
)
from skillgym_action.system.files.contents import CHUNK_BYTES
from skillgym_action.system.files.packing import copy_into, folder_entries, unpack

FOLDER, FILE, LINK = b"d", b"f", b"l"
FINISHED = HEADER.pack(END, 0, 0, 0, 0)


def entry(kind: bytes, path: bytes, content: bytes = b"", **heads: int) -> bytes:
    mode, length, size = heads.get("mode", 0o644), heads.get("length", len(path)), heads.get("size", len(content))
    return HEADER.pack(kind, mode, length, size, 0) + path + content


def stream(*made: bytes, end: bytes = FINISHED) -> bytes:
    return START + b"".join(made) + end


def refused(content: bytes, **limits: int) -> str:
    with pytest.raises(BundleError) as error:
        list(read_bundle(io.BytesIO(content), BundleLimits(**limits)))
    return str(error.value)


def packed(*made: BundleEntry) -> bytes:
    file = io.BytesIO()
    write_bundle(file, made)
    return file.getvalue()


def file_of(path: str, content: bytes = b"", mode: int = 0o644) -> BundleEntry:
    return BundleEntry("file", path, mode).with_content(len(content), content)


# --- there and back ---------------------------------------------------------------------------------


def template(root):
    """All that a directory of a user may hold."""
    root = written(root, dict.fromkeys(NAMES, "content") | {"plain-folder/file": "x", ".git/HEAD": "x", "d\n/x": "x"})
    links = {"in": "plain", "out": "/etc", "lost": "nowhere", "a": "b", "b": "a", "self": ".", "up": "../.."}
    for name, target in links.items():
        (root / name).symlink_to(target)
    (root / "empty").mkdir()
    (root / "large").write_bytes(os.urandom(3 * 1024 * 1024))
    (root / "run").write_text("#!/bin/sh\n")
    (root / "run").chmod(0o755)
    (root / "plain-folder/file").chmod(0o444)
    os.utime(root / "plain-folder", ns=(1, 1_000_000_007))
    (root / "plain-folder").chmod(0o555)
    return root


def through_a_stream(source, target):
    with io.BytesIO() as file:
        write_bundle(file, folder_entries(source))
        file.seek(0)
        unpack(target, read_bundle(file))


WAYS = {
    "bundle": through_a_stream,
    "entries": lambda source, target: unpack(target, folder_entries(source)),
    "copy": copy_into,
}


@pytest.mark.parametrize("way", WAYS)
def test_a_folder_arrives_with_names_modes_times_and_links(tmp_path, way):
    root = template(tmp_path / "t")
    expected = tree(root)
    special(root)
    (tmp_path / "copy").mkdir()
    with opened(root) as source, opened(tmp_path / "copy") as target:
        WAYS[way](source, target)
    assert tree(tmp_path / "copy") == expected
    assert (tmp_path / "copy/plain-folder").stat().st_mtime_ns == 1_000_000_007


@pytest.mark.parametrize("way", WAYS)
def test_a_read_only_folder_arrives_for_those_whom_modes_bind(tmp_path, way):
    root = written(tmp_path / "t", {"ro/below/file": "x"})
    (root / "ro/below").chmod(0o555)
    (root / "ro").chmod(0o500)
    (tmp_path / "copy").mkdir()
    tmp_path.chmod(0o755)
    expected = tree(root)

    def check():
        with opened(root) as source, opened(tmp_path / "copy") as target:
            WAYS[way](source, target)
        assert tree(tmp_path / "copy") == expected

    reachable(tmp_path)
    as_plain_user(tmp_path, check)


def reachable(folder):
    """Let others go through the folders above."""
    for above in folder.parents:
        if os.stat(above).st_uid == os.geteuid() and not os.stat(above).st_mode & 0o001:
            above.chmod(0o711)


@pytest.mark.slow
@pytest.mark.parametrize("way", ["entries", "copy"])
def test_folders_that_are_deeper_than_recursion_and_descriptors_go_arrive(tmp_path, way):
    for name in ("t", "copy"):
        (tmp_path / name).mkdir()
    subprocess.run([sys.executable, "-c", digging(1500)], cwd=tmp_path / "t", check=True)
    with opened(tmp_path / "t") as source, opened(tmp_path / "copy") as target:
        WAYS[way](source, target)
        assert target.kind("d/" * 1500 + "deepest") == "file"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("there", ["file", "hard link", "link"])
def test_nothing_that_is_there_is_written_to(tmp_path, way, there):
    written(tmp_path, {"t/file": "new", "outside": "old", "copy/other": ""})
    place = tmp_path / "copy/file"
    if there == "file":
        place.write_text("old")
    elif there == "link":
        place.symlink_to("../outside")
    else:
        place.hardlink_to(tmp_path / "outside")
    with opened(tmp_path / "t") as source, opened(tmp_path / "copy") as target, pytest.raises(FileExistsError):
        WAYS[way](source, target)
    assert (place.read_text(), (tmp_path / "outside").read_text()) == ("old", "old")


def test_a_folder_inherits_setgid_and_bundles_bring_none(tmp_path):
    (tmp_path / "t").mkdir()
    (tmp_path / "t").chmod(0o2770)
    content = stream(entry(FOLDER, b"d", mode=0o1755), entry(FILE, b"d/f", b"x", mode=0o6755))
    with opened(tmp_path / "t") as folder:
        unpack(folder, read_bundle(io.BytesIO(content)))
    assert (tmp_path / "t/d").stat().st_mode & 0o7777 == 0o2755
    assert (tmp_path / "t/d/f").stat().st_mode & 0o7777 == 0o755


@pytest.mark.parametrize("way", ["entries", "copy"])
def test_what_cannot_be_read_is_an_error_with_its_place(tmp_path, way):
    root = written(tmp_path / "t", {"a/file": "x"})
    (root / "a/file").chmod(0)
    (tmp_path / "copy").mkdir()

    def check():
        with opened(root) as source, opened(tmp_path / "copy") as target:
            with pytest.raises(PermissionError) as error:
                WAYS[way](source, target)
            assert error.value.filename == f"{root}/a/file"

    reachable(tmp_path)
    as_plain_user(tmp_path, check)


def test_a_copy_that_is_cancelled_ends(tmp_path):
    written(tmp_path / "t", {"a": "", "b": ""})
    (tmp_path / "copy").mkdir()

    def cancelled():
        raise InterruptedError

    with opened(tmp_path / "t") as source, opened(tmp_path / "copy") as target:
        with pytest.raises(InterruptedError):
            copy_into(source, target, cancelled)
        assert target.snapshot() == {}


def test_names_may_be_left_out(tmp_path):
    root = written(tmp_path / "t", {".git/HEAD": "x", "a/.git/HEAD": "x", "a/b": "x"})
    with opened(root) as source:
        assert [one.path for one in folder_entries(source, without={".git"})] == ["a", "a/b"]


def test_some_paths_come_with_their_folders(tmp_path):
    root = written(tmp_path / "t", {"a/b/one": "1", "a/b/two": "2", "a/c/three": "3", "four": "4"})
    (root / "a/link").symlink_to("/etc")
    with opened(root) as folder:
        wanted = ["four", "a/b/one", "a/c/three", "a/b/two", "a/link"]
        made = [(one.kind, one.path) for one in folder_entries(folder, wanted)]
    assert made == [
        *[("file", "four"), ("folder", "a"), ("folder", "a/b"), ("file", "a/b/one"), ("folder", "a/c")],
        *[("file", "a/c/three"), ("file", "a/b/two"), ("link", "a/link")],
    ]


@pytest.mark.parametrize("path", ["gone", "a/gone", "link/passwd", "../t/a", "/etc/passwd", ""])
def test_a_path_that_is_not_there_or_behind_a_link_is_an_error(tmp_path, path):
    root = written(tmp_path / "t", {"a/b": ""})
    (root / "link").symlink_to("/etc")
    with opened(root) as folder, pytest.raises(OSError, match=r"No such|Not a dir|no path|the folder itself"):
        list(folder_entries(folder, [path]))


def test_what_is_closed_is_opened_for_packing_where_it_is_asked_for(tmp_path):
    root = written(tmp_path / "t", {"closed/file": "x", "ro/file": "x", "half/file": "x"})
    (root / "closed/file").chmod(0)
    for name, mode in (("closed", 0), ("ro", 0o555), ("half", 0o444)):
        (root / name).chmod(mode)

    def check():
        with opened(root) as folder:
            files = {
                one.path: b"".join(one.chunks()) for one in folder_entries(folder, open_up=True) if one.kind == "file"
            }
        assert files == {"closed/file": b"x", "ro/file": b"x", "half/file": b"x"}

    reachable(tmp_path)
    as_plain_user(tmp_path, check)


def test_what_others_cannot_pack_is_left_out(tmp_path):
    root = written(tmp_path / "t", {"a/b/c": "", "huge": "", "good": "x"})
    os.truncate(root / "huge", 2**40)
    with opened(root) as folder:
        assert {one.path for one in folder_entries(folder, limits=BundleLimits(levels=2))} == {"a", "a/b", "good"}
        assert {one.path for one in folder_entries(folder, limits=BundleLimits(path_bytes=4))} == {"a", "a/b", "good"}
        with pytest.raises(OSError, match="more than 0 MiB"):
            list(folder_entries(folder, ["good"], limits=BundleLimits(total_bytes=0)))


def test_a_file_that_shrinks_while_it_is_packed_is_an_error():
    entry = BundleEntry("file", "a", 0o644).with_content(9, lambda: (b"short",))
    with pytest.raises(BundleError, match="a: its size changed"):
        packed(entry)


# --- what is refused --------------------------------------------------------------------------------

DEEP = [entry(FOLDER, b"/".join([b"d"] * depth)) for depth in range(1, 402)]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        pytest.param(b"", "ends too early", id="nothing"),
        pytest.param(b"PK\3\4" * 9, "does not begin", id="something else"),
        pytest.param(stream(entry(FILE, b"/etc/x")), "no folder|did not come", id="absolute"),
        pytest.param(stream(entry(FILE, b"/x")), "did not come", id="absolute at the top"),
        pytest.param(stream(entry(FILE, b"")), "not the name", id="no path"),
        pytest.param(stream(entry(FOLDER, b".")), "not the name", id="the folder itself"),
        pytest.param(stream(entry(FILE, b"..")), "not the name", id="above"),
        pytest.param(stream(entry(FILE, b"../x")), "did not come", id="beside"),
        pytest.param(stream(entry(FOLDER, b"d"), entry(FILE, b"d/../x")), "did not come", id="up in the middle"),
        pytest.param(stream(entry(FOLDER, b"d"), entry(FILE, b"d/./x")), "did not come", id="a dot in the middle"),
        pytest.param(stream(entry(FOLDER, b"d"), entry(FILE, b"d//x")), "did not come", id="nothing in the middle"),
        pytest.param(stream(entry(FOLDER, b"d/")), "did not come", id="nothing at the end"),
        pytest.param(
            stream(entry(FOLDER, b"d"), entry(FOLDER, b"d/")),
            "not the name",
            id="nothing at the end of a known",
        ),
        pytest.param(stream(entry(FILE, b"a\0b")), "not the name", id="NUL"),
        pytest.param(stream(entry(FILE, b"n" * 256)), "not the name", id="a name no system takes"),
        pytest.param(stream(entry(FILE, b"a"), entry(FILE, b"a")), "came before", id="a path twice"),
        pytest.param(stream(entry(FOLDER, b"a"), entry(FOLDER, b"a")), "came before", id="a folder twice"),
        pytest.param(stream(entry(LINK, b"a", b"/etc"), entry(FOLDER, b"a")), "came before", id="a link, a folder"),
        pytest.param(stream(entry(FILE, b"d/x")), "did not come", id="no folder"),
        pytest.param(stream(entry(FILE, b"d"), entry(FILE, b"d/x")), "did not come", id="below a file"),
        pytest.param(stream(entry(LINK, b"d", b"/etc"), entry(FILE, b"d/x")), "did not come", id="below a link"),
        pytest.param(stream(entry(b"p", b"a")), "unknown kind", id="a FIFO"),
        pytest.param(stream(entry(b"h", b"a", b"b")), "unknown kind", id="a hard link"),
        pytest.param(stream(entry(b"\0", b"a")), "unknown kind", id="no kind"),
        pytest.param(stream(end=HEADER.pack(END, 0, 1, 0, 0)), "unknown kind", id="an end with a path"),
        pytest.param(stream(entry(FOLDER, b"a", b"x")), "a folder with content", id="a folder with content"),
        pytest.param(stream(*DEEP), "more than 400 levels", id="401 levels"),
        pytest.param(stream(entry(FILE, b"x" * 3001)), "a path of 3001 bytes", id="a long path"),
        pytest.param(stream(entry(FILE, b"x", length=2**32 - 1)), "a path of 4294967295 bytes", id="a huge path"),
        pytest.param(stream(entry(FILE, b"a", size=64 * 1024**2 + 1)), "a file of 67108865", id="a large file"),
        pytest.param(stream(entry(FILE, b"a", size=2**64 - 1)), "bytes in all", id="minus one byte"),
        pytest.param(stream(entry(FILE, b"a", b"x", size=1024)), "ends too early", id="a short file"),
        pytest.param(stream(entry(FILE, b"abc"), end=b""), "ends too early", id="no end"),
        pytest.param(stream(entry(FILE, b"ab", length=3), end=b""), "ends too early", id="a short path"),
        pytest.param(stream(end=FINISHED[:-1]), "ends too early", id="a short end"),
        pytest.param(stream() + b"x", "comes after its end", id="more after the end"),
        pytest.param(stream(entry(LINK, b"a", b"")), "a link to a path of 0", id="a link to no path"),
        pytest.param(stream(entry(LINK, b"a", b"x\0y")), "a link to no path", id="a link with NUL"),
        pytest.param(stream(entry(LINK, b"a", b"x" * 4096)), "a link to a path of 4096", id="a long link"),
    ],
)
def test_a_forged_bundle_is_refused(content, reason):
    assert refused(content).startswith("the bundle is refused at entry ")
    with pytest.raises(BundleError, match=reason):
        list(read_bundle(io.BytesIO(content)))


def test_a_bundle_of_too_much_is_refused():
    files = [entry(FILE, f"{number}".encode(), b"xx") for number in range(10)]
    assert "more than 9 entries" in refused(stream(*files), entries=9)
    assert "more than 29 bytes in all" in refused(stream(*files), total_bytes=29)
    assert len(list(read_bundle(io.BytesIO(stream(*files)), BundleLimits(entries=10, total_bytes=30)))) == 10


def test_the_largest_that_is_allowed_is_read():
    levels = list(read_bundle(io.BytesIO(stream(*DEEP[:400]))))
    assert len(levels) == 400
    assert len(list(read_bundle(io.BytesIO(stream(entry(FILE, b"x" * 255)))))) == 1


def test_a_length_is_not_believed_before_the_bytes_are_there():
    content = stream(entry(FILE, b"a", size=60 * 1024**2), end=b"x" * 10)

    class Counting(io.BytesIO):
        largest = 0

        def read(self, size=-1):
            self.largest = max(self.largest, size)
            return super().read(size)

    file = Counting(content)
    with pytest.raises(BundleError, match="ends too early"):
        list(read_bundle(file))
    assert file.largest <= 1024 * 1024


def test_names_that_differ_in_case_alone_are_two(tmp_path):
    assert [one.path for one in read_bundle(io.BytesIO(stream(entry(FILE, b"A"), entry(FILE, b"a"))))] == ["A", "a"]


def test_after_a_bundle_more_may_come_where_that_is_expected():
    file = io.BytesIO(stream(entry(FILE, b"a", b"xyz")) + b"the next answer")
    assert [b"".join(one.chunks()) for one in read_bundle(file, alone=False)] == [b"xyz"]
    assert file.read() == b"the next answer"


def test_content_that_nobody_reads_is_skipped():
    file = io.BytesIO(stream(entry(FILE, b"a", b"x" * 5000), entry(FILE, b"b", b"y")))
    assert [one.path for one in read_bundle(file)] == ["a", "b"]


VALID = stream(
    entry(FOLDER, b"d", mode=0o755), entry(FILE, b"d/f", b"content"), entry(LINK, b"l", b"d/f"), entry(FOLDER, b"d/e"),
    entry(LINK, b"d/e/out", b"../../../outside"), entry(FILE, b"x", b"y" * 40),
)  # fmt: skip
PIECE = st.sampled_from([b"/", b"..", b"../", b"\0", b"d", b"l", b"f", b"out", FINISHED, HEADER.pack(FILE, 0, 1, 1, 0)])
CHANGE = st.tuples(st.integers(0, len(VALID)), st.integers(0, 8), PIECE | st.binary(max_size=4))


@pytest.mark.slow
@settings(max_examples=500)
@given(changes=st.lists(CHANGE, max_size=5))
def test_a_bundle_is_refused_or_stays_inside_whatever_is_changed(tmp_path_factory, changes):
    place = tmp_path_factory.mktemp("forged")
    (place / "inside").mkdir()
    (place / "outside").mkdir()
    content = VALID
    for at, gone, more in changes:
        content = content[:at] + more + content[at + gone :]
    with opened(place / "inside") as folder:
        with suppress(BundleError, OSError):
            unpack(folder, read_bundle(io.BytesIO(content)))
        assert all(not mode or mode & 0o7000 == 0 for mode in map(folder.mode, folder.snapshot()))
        assert folder.empty()
    assert sorted(os.listdir(place)) == ["inside", "outside"]
    assert os.listdir(place / "outside") == []


# --- for artifacts ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("target", "stays"),
    [
        pytest.param("file", True, id="a file beside it"),
        pytest.param("d/below", True, id="a file below"),
        pytest.param("d/../file", True, id="up again"),
        pytest.param("./d/./below", True, id="dots"),
        pytest.param("chain", True, id="a link to a file"),
        pytest.param("d", False, id="a folder"),
        pytest.param(".", False, id="its own folder"),
        pytest.param("d/", False, id="a folder, with a slash"),
        pytest.param("file/", False, id="a file, with a slash"),
        pytest.param("file/.", False, id="below a file"),
        pytest.param("to-d/below", False, id="by way of a link to a folder, which is gone"),
        pytest.param("nowhere", False, id="nothing"),
        pytest.param("/etc/passwd", False, id="absolute"),
        pytest.param("/d/below", False, id="absolute, with the path of a file"),
        pytest.param("../file", False, id="out"),
        pytest.param("d/../../x/file", False, id="out and in again"),
        pytest.param("link", False, id="itself"),
        pytest.param("loop", False, id="a loop"),
        pytest.param("long-0", True, id="39 links"),
        pytest.param("longer-0", False, id="too many links"),
    ],
)
def test_of_links_those_stay_that_end_at_a_file_of_the_bundle(target, stays):
    links = {"link": target, "chain": "d/up", "to-d": "d", "loop": "loop-2", "loop-2": "loop"}
    links |= {f"long-{number}": f"long-{number + 1}" for number in range(38)} | {"long-38": "file"}
    links |= {f"longer-{number}": f"longer-{number + 1}" for number in range(40)} | {"longer-40": "file"}
    made = [BundleEntry("link", path, 0o777, target=led) for path, led in links.items()]
    made += [BundleEntry("folder", "d", 0o755), file_of("d/below"), file_of("file")]
    made.append(BundleEntry("link", "d/up", 0o777, target="../file"))
    found = {one.path: one for one in with_safe_links(made)}["link"]
    if stays:
        assert (found.kind, found.target) == ("link", target)
    else:
        assert (found.kind, b"".join(found.chunks())) == ("file", f"a symbolic link to {target}\n".encode())


def test_what_goes_into_an_artifact_can_be_read_and_is_a_valid_bundle():
    made = [BundleEntry("link", "a", 0o777, target="d/f"), BundleEntry("folder", "d", 0), file_of("d/f", b"x", 0o111)]
    done = read_bundle(io.BytesIO(packed(*with_safe_links(made))))
    assert [(one.kind, one.path, one.mode) for one in done] == [
        *[("folder", "d", 0o700), ("file", "d/f", 0o711), ("link", "a", 0o777)]
    ]


def test_an_entry_whose_folder_did_not_come_is_refused():
    with pytest.raises(BundleError, match="d is not a folder"):
        list(with_safe_links([file_of("d/x")]))


def test_headers_have_one_size_everywhere():
    assert HEADER.size == struct.calcsize(">cIIQq") == 25
    assert SMALL_FILE_BYTES <= CHUNK_BYTES
