"""Attacks of those who have no shell: they name a file, and the tool is to read it or to write there."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any, Protocol

from attempts import CONTENT, POSSIBLE, REFUSED
from positions import BY_NAME, READING, WRITING
from scratch import case, committed, git_in, repository, suite, written

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from pathlib import Path

    from attempts import Attempt, Kept

INSIDE = "inside-the-checkout"


class Tool(Protocol):
    """The tool in one of the settings, in a checkout."""

    def run(self, *, output: str = "results", template_dir: str | None = None) -> tuple[int, str]:
        """Exit code, and what it says; all of each workspace is archived."""

    def report(self, folder: str) -> tuple[int, str]:
        """The same for results of another workflow."""


def outcomes(
    tool: Tool, root: Path, attempts: Iterable[Attempt], places: Mapping[str, str | Path]
) -> dict[str, dict[str, Kept]]:
    """Position -> words of an attempt -> what came of it.

    ``places``: what names such as ``$CLOSED`` in paths stand for, where the tool runs. ``root`` is not there yet.
    """
    named = {f"${name.upper()}": str(place) for name, place in places.items()}
    reads = {attempt.words: _filled(attempt.path, named) for attempt in attempts if attempt.path}
    writes = {attempt.words: _filled(attempt.folder, named) for attempt in attempts if attempt.folder}
    found: dict[str, dict[str, Kept]] = {}
    for position in BY_NAME:
        shutil.rmtree(root, ignore_errors=True)
        found[position] = TRIED[position](tool, root, reads) if position in READING else {}
        if position in WRITING:
            found[position] |= _written_through(tool, root, writes)
    return found


def _filled(path: str, named: Mapping[str, str]) -> str:
    for name, place in named.items():
        path = path.replace(name, place)
    return path


def _kept(words: Iterable[str], refused: Callable[[int], bool]) -> dict[str, Kept]:
    return {one: REFUSED if refused(number) else POSSIBLE for number, one in enumerate(words)}


def _published(root: Path) -> bool:
    """Whether the run directory has the content of the closed file, or a link."""
    paths = list((root / "results").rglob("*"))
    return any(path.is_symlink() or (path.is_file() and CONTENT.encode() in path.read_bytes()) for path in paths)


def _results(root: Path) -> dict[str, list[Any]]:
    suites = json.loads((root / "results" / "results.json").read_text())["suites"]
    return {one["path"]: one["results"] for one in suites}


def _linked_suites(tool: Tool, root: Path, reads: Mapping[str, str]) -> dict[str, Kept]:
    repository(root, {"other/inside.json": suite(), "bench/core.json": None})
    for number, path in enumerate(reads.values()):
        _link(root / f"bench/{number}.json", path)
    _link(root / "bench/inside.json", "../other/inside.json")
    git(root)
    _, said = tool.run()
    results = _results(root)
    assert [one["status"] for one in results["bench/inside.json"]] == ["passed"], said
    published = _published(root) or CONTENT in said

    def refused(number: int) -> bool:
        listed = results.get(f"bench/{number}.json", [])
        told = [(one["status"], "leads " in one["error"]["message"]) for one in listed]
        return not published and told == [("errored", True)]

    return _kept(reads, refused)


def _written_through(tool: Tool, root: Path, writes: Mapping[str, str]) -> dict[str, Kept]:
    shutil.rmtree(root, ignore_errors=True)
    repository(root)
    for number, path in enumerate(writes.values()):
        _link(root / f"out-{number}", path)
    git(root)
    code, said = tool.run(output="out/inside")
    assert code == 0, said

    def refused(number: int) -> bool:
        code, said = tool.run(output=f"out-{number}")
        return code == 2 and f"out-{number} is a symbolic link" in said

    return _kept(writes, refused)


def _linked_templates(tool: Tool, root: Path, reads: Mapping[str, str]) -> dict[str, Kept]:
    expect = [f"file:{number} matches /[^]/" for number in range(len(reads))]
    files = {
        "bench/core.json": suite(
            case("one", (*expect, f"file:link contains '{INSIDE}'")), workspace={"templateDir": "t"}
        ),
        "bench/t/inside": INSIDE,
    }
    repository(root, files)
    for number, path in enumerate(reads.values()):
        _link(root / f"bench/t/{number}", path)
    _link(root / "bench/t/link", "inside")
    git(root)
    _, said = tool.run()
    ((result,),) = _results(root).values()
    *read, inside = result["outcomes"]
    assert inside["passed"], said
    published = CONTENT in json.dumps(result) or any(
        CONTENT in path.read_text(errors="replace") for path in (root / "results").rglob("*") if path.is_file()
    )
    kept = {path.name for path in (root / "results/workspaces").rglob("*") if not path.is_symlink()}

    def refused(number: int) -> bool:
        return not published and read[number]["passed"] is False and str(number) in kept

    return _kept(reads, refused)


def _included(tool: Tool, root: Path, reads: Mapping[str, str]) -> dict[str, Kept]:
    """Included as it is called, and by a link beside the template."""
    included = "".join(
        f'{number}<{{% include "{path}" ignore missing %}}>\n'
        for number, path in enumerate((*reads.values(), "inside.j2"))
    )
    repository(root, {"tpl/summary.md.j2": included, "tpl/inside.j2": INSIDE})
    for number, path in enumerate(reads.values()):
        written(root, {f"tpl-{number}/summary.md.j2": '{% include "link" %}'})
        _link(root / f"tpl-{number}/link", path)
    git(root)
    code, said = tool.run(template_dir="tpl")
    summary = (root / "results" / "summary.md").read_text()
    assert (code, f"{len(reads)}<{INSIDE}>" in summary) == (0, True), said + summary

    def refused(number: int) -> bool:
        code, said = tool.run(output=f"out-{number}", template_dir=f"tpl-{number}")
        linked = code == 2 and f"tpl-{number}/link: a symbolic link" in said
        return linked and f"{number}<>" in summary and not _published(root)

    return _kept(reads, refused)


def _forged(tool: Tool, root: Path, reads: Mapping[str, str]) -> dict[str, Kept]:
    repository(root)
    git(root)
    assert tool.run()[0] == 0
    (root / "artifact").mkdir()
    shutil.copytree(root / "results", root / "artifact" / "inside")
    for number, path in enumerate(reads.values()):
        _link(root / f"artifact/{number}/results.json", path)
    code, said = tool.report("artifact/inside")
    assert code == 0, said

    def refused(number: int) -> bool:
        code, said = tool.report(f"artifact/{number}")
        return code == 2 and "is a symbolic link" in said and CONTENT not in said

    return _kept(reads, refused)


TRIED = {
    "committed link": _linked_suites,
    "template": _linked_templates,
    "report template": _included,
    "artifact": _forged,
}


def _link(place: Path, target: str) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(target)


def git(root: Path) -> None:
    """Commit all of it."""
    git_in(root, "init", "--quiet", "--initial-branch=main")
    committed(root)
