"""Review comments: what is not green, said at the lines where the pull request changes its case."""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING

from skillgym_action.github.comment import JOBS_OWN
from skillgym_action.github.replies import ChangedFile, ReviewComment, each, written_by
from skillgym_action.reporters.review import review_text
from skillgym_action.reporters.wording import RED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.github.api import GitHubApi
    from skillgym_action.github.pull_request import PullRequest
    from skillgym_action.model.result import Result
    from skillgym_action.model.run_report import RunReport

MOST = 20
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@dataclass(frozen=True, kw_only=True, slots=True)
class Remark:
    """What is to be said at a line; ``key`` finds it again in a later run."""

    key: str
    path: str
    line: int
    body: str


class Review:
    """This tool's comments on the diff of one pull request. May raise GitHubError."""

    def __init__(self, api: GitHubApi, repository: str, pull: PullRequest, *, marker: str) -> None:
        """``marker``: the hidden line of the comment whose run this is."""
        self._api, self._pull, self._marker = api, pull, marker.removesuffix(" -->")
        self._repository = f"/repos/{repository}/pulls"
        self._path = f"{self._repository}/{pull.number}"

    def show(self, report: RunReport) -> int:
        """Say what is to be said, once, and take back what does not hold any more; how many stand there then."""
        # Where suites are those of another commit, their lines are not those of the pull request.
        red = [] if report.suites_from else [result for result in report.results if result.status in RED]
        before = [comment for comment in self._all() if self._key(comment)]
        if not red and not before:
            return 0
        changed = changed_lines(each(ChangedFile, self._api.pages(f"{self._path}/files"))) if red else {}
        wanted = {remark.key: remark for remark in self._remarks(report, changed)}
        standing = self._reconciled(self._own(before), wanted)
        new = [remark for key, remark in wanted.items() if key not in standing][: max(0, MOST - len(standing))]
        if new:
            self._post(new)
        return len(standing) + len(new)

    def _remarks(self, report: RunReport, changed: dict[str, Lines]) -> Iterator[Remark]:
        for results, span in _cases(report):
            first = results[0]
            path = first.location.path if first.location else first.suite.path
            line = changed[path].anchor(span) if path in changed else None
            if line is not None:
                digest = sha256(f"{first.suite.path}\0{first.case_id}".encode(errors="replace")).hexdigest()[:16]
                body = f"{self._marker}:{digest} -->\n{review_text(results)}"
                yield Remark(key=digest, path=path, line=line, body=body)

    def _reconciled(self, before: list[ReviewComment], wanted: dict[str, Remark]) -> set[str]:
        """Keys that stand already. What somebody answered stays, whatever has become of it."""
        answered = {comment.in_reply_to_id for comment in self._seen}
        standing: set[str] = set()
        for comment in before:
            key = self._key(comment) or ""
            remark = wanted.get(key)
            if remark and key not in standing and (comment.path, comment.line) == (remark.path, remark.line):
                standing.add(key)
                if comment.body != remark.body:
                    self._api.patch(f"{self._repository}/comments/{comment.id}", {"body": remark.body})
            elif comment.id not in answered:
                self._api.delete(f"{self._repository}/comments/{comment.id}")
        return standing

    def _post(self, remarks: list[Remark]) -> None:
        comments = [
            {"path": remark.path, "line": remark.line, "side": "RIGHT", "body": remark.body} for remark in remarks
        ]
        said = "One case this pull request changes is" if len(remarks) == 1 else "Cases this pull request changes are"
        self._api.post(
            f"{self._path}/reviews",
            {
                "commit_id": self._pull.head_sha,
                "event": "COMMENT",
                "body": f"{said} not green.",
                "comments": comments,
            },
        )

    def _all(self) -> list[ReviewComment]:
        self._seen = list(each(ReviewComment, self._api.pages(f"{self._path}/comments")))
        return self._seen

    def _own(self, comments: list[ReviewComment]) -> list[ReviewComment]:
        if not comments:
            return []
        me = self._api.viewer() or JOBS_OWN
        return [comment for comment in comments if written_by(me, comment)]

    def _key(self, comment: ReviewComment) -> str | None:
        found = re.match(re.escape(self._marker) + r":([0-9a-f]{16}) -->", comment.body or "")
        return found[1] if found else None


# --- where a case is written, and what of it has changed --------------------------------------------


@dataclass(frozen=True, kw_only=True, slots=True)
class Lines:
    """Lines of a file's new state: those in the diff, where comments can stand, and those that are new or different."""

    shown: frozenset[int]
    changed: tuple[int, ...]

    def anchor(self, span: range) -> int | None:
        """Where to comment on a case that is written in ``span``: its first line if possible; None if unchanged."""
        inside = next((line for line in self.changed if line in span), None)
        return inside if inside is None or span.start not in self.shown else span.start


def changed_lines(files: Iterable[ChangedFile]) -> dict[str, Lines]:
    """The lines of each changed file, by path."""
    return {file.filename: _lines(file.patch) for file in files if file.patch}


def _lines(patch: str) -> Lines:
    shown, changed, number = [], [], 0
    for line in patch.split("\n"):
        if hunk := _HUNK.match(line):
            number = int(hunk[1])
        elif line.startswith(("+", " ")):
            shown.append(number)
            changed += [number] if line[0] == "+" else []
            number += 1
    return Lines(shown=frozenset(shown), changed=tuple(changed))


def _cases(report: RunReport) -> Iterator[tuple[list[Result], range]]:
    """Cases that are not green on some runner, and the lines they are written in: up to the next one of their file."""
    starts: dict[str, set[int]] = {}
    red: dict[tuple[str, str], list[Result]] = {}
    for result in report.results:
        if result.location and result.location.line:
            starts.setdefault(result.location.path, set()).add(result.location.line)
        if result.status in RED:
            red.setdefault((result.suite.path, result.case_id), []).append(result)
    ends = {
        (path, line): following
        for path, lines in starts.items()
        for line, following in pairwise([*sorted(lines), _LAST])
    }
    for results in red.values():
        location = results[0].location
        if location and location.line:
            yield results, range(location.line, ends[location.path, location.line])


_LAST = 10**9
