"""The pull request of a run, and review comments at lines where it changes cases that are not green."""

from __future__ import annotations

import re
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING

from skillgym_action.github.api import ChangedFile, Pull, ReviewComment, SubmittedReview, parse_object, parse_pages
from skillgym_action.github.comment import own_comments
from skillgym_action.github.event import PULL_REQUEST_EVENTS
from skillgym_action.model.limits import COMMIT_CHARACTERS
from skillgym_action.model.records import record
from skillgym_action.model.verdicts import RED
from skillgym_action.reports.wording.failed_assertions import failed_assertions
from skillgym_action.reports.wording.results import case_name, cause, runner_id
from skillgym_action.text.escaping import clipped, markdown_code_block, markdown_code_span, markdown_inline

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from skillgym_action.github.api import GitHubApi
    from skillgym_action.github.event import GitHubEvent, Head
    from skillgym_action.model.report import RunReport
    from skillgym_action.model.result import Result

MAX_REVIEW_COMMENTS = 20
MAX_REVIEW_CHARACTERS = 6_000  # about the failures of a case, before they are escaped; as many again for evidence
_NAME, _RUNNERS = 120, 10  # characters; runners of a case that are listed
_NO_LIMIT = 10**9  # a line after all others
_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")


@record
class Remark:
    """A comment to write at a line. ``key`` identifies the case, also in later runs."""

    key: str
    path: str
    line: int
    body: str


class Review:
    """This tool's comments on the diff of one pull request. ``marker``: the first line of the run's sticky comment."""

    def __init__(self, api: GitHubApi, repository: str, pull: PullRequest, *, marker: str) -> None:
        self._api, self._pull, self._marker = api, pull, marker.removesuffix(" -->")
        self._repository = f"/repos/{repository}/pulls"
        self._path = f"{self._repository}/{pull.number}"

    def update(self, report: RunReport) -> int:
        """Write comments that are missing, delete those that no longer apply, and return how many there are then.

        Raises GitHubError.
        """
        # Suites of another commit have other lines than the files of the pull request.
        red = [] if report.suites_from else [result for result in report.results if result.status in RED]
        before = [comment for comment in self._all() if self._key(comment)]
        if not red and not before:
            return 0
        changed = changed_lines(parse_pages(ChangedFile, self._api.pages(f"{self._path}/files"))) if red else {}
        wanted = {remark.key: remark for remark in self._remarks(report, changed)}
        own = own_comments(self._api, before)
        kept, deleted = self._reconcile(own, wanted)
        left = {comment.pull_request_review_id for comment in own if comment.id not in deleted}
        self._withdraw({comment.pull_request_review_id for comment in own if comment.id in deleted} - left)
        new = [remark for key, remark in wanted.items() if key not in kept][: max(0, MAX_REVIEW_COMMENTS - len(kept))]
        if new:
            self._post(new)
        return len(kept) + len(new)

    def _remarks(self, report: RunReport, changed: dict[str, DiffLines]) -> Iterator[Remark]:
        for results, span in _failing_cases(report):
            first = results[0]
            path = first.location.path if first.location else first.suite.path
            line = changed[path].anchor(span) if path in changed else None
            if line is not None:
                digest = sha256(f"{first.suite.path}\0{first.case_id}".encode(errors="replace")).hexdigest()[:16]
                body = f"{self._marker}:{digest} -->\n{review_text(results)}"
                yield Remark(key=digest, path=path, line=line, body=body)

    def _reconcile(self, before: list[ReviewComment], wanted: dict[str, Remark]) -> tuple[set[str], set[int]]:
        """Update and delete comments of earlier runs; return the keys of those that are kept, and the deleted ids.

        A comment with replies is never deleted.
        """
        answered = {comment.in_reply_to_id for comment in self._seen}
        kept, deleted = set[str](), set[int]()
        for comment in before:
            key = self._key(comment) or ""
            remark = wanted.get(key)
            if remark and key not in kept and (comment.path, comment.line) == (remark.path, remark.line):
                kept.add(key)
                if comment.body != remark.body:
                    self._api.patch(f"{self._repository}/comments/{comment.id}", {"body": remark.body})
            elif comment.id not in answered:
                self._api.delete(f"{self._repository}/comments/{comment.id}")
                deleted.add(comment.id)
        return kept, deleted

    def _withdraw(self, reviews: set[int | None]) -> None:
        """Replace the text of reviews that have no comment of this tool any more; GitHub deletes none."""
        for review in sorted(id_ for id_ in reviews if id_ is not None):
            commit = self._pull.head_sha[:COMMIT_CHARACTERS]
            text = f"Withdrawn: as of commit {commit} none of its comments applies any more."
            self._api.put(f"{self._path}/reviews/{review}", {"body": text})

    def _post(self, remarks: list[Remark]) -> None:
        """Write the comments in one review; if the reply got lost, they are looked for before it is written again."""
        comments = [
            {"path": remark.path, "line": remark.line, "side": "RIGHT", "body": remark.body} for remark in remarks
        ]
        subject = (
            "One case this pull request changes is" if len(remarks) == 1 else "Cases this pull request changes are"
        )
        body = {
            "commit_id": self._pull.head_sha,
            "event": "COMMENT",
            "body": f"{subject} not green.",
            "comments": comments,
        }
        known = {comment.id for comment in self._seen}

        def created() -> SubmittedReview | None:
            marked = [one for one in self._all() if one.id not in known and self._key(one)]
            found = own_comments(self._api, marked)
            if {self._key(one) for one in found} < {remark.key for remark in remarks}:
                return None
            return SubmittedReview(id=found[0].pull_request_review_id or 0)

        self._api.create(f"{self._path}/reviews", body, partial(parse_object, SubmittedReview), created)

    def _all(self) -> list[ReviewComment]:
        self._seen = list(parse_pages(ReviewComment, self._api.pages(f"{self._path}/comments")))
        return self._seen

    def _key(self, comment: ReviewComment) -> str | None:
        found = re.match(re.escape(self._marker) + r":([0-9a-f]{16}) -->", comment.body or "")
        return found[1] if found else None


# --- lines of a case, and lines that the pull request changes----------------------------------------


@record
class DiffLines:
    """Line numbers of a file's new version: those in the diff, where GitHub takes comments, and those that changed."""

    in_diff: frozenset[int]
    changed: tuple[int, ...]

    def anchor(self, span: range) -> int | None:
        """The line for a comment on a case in the lines of ``span``: the first if possible; None if nothing changed."""
        inside = next((line for line in self.changed if line in span), None)
        return inside if inside is None or span.start not in self.in_diff else span.start


def changed_lines(files: Iterable[ChangedFile]) -> dict[str, DiffLines]:
    """The lines of each changed file, by path."""
    return {file.filename: _lines(file.patch) for file in files if file.patch}


def _lines(patch: str) -> DiffLines:
    in_diff, changed, number = [], [], 0
    for line in patch.split("\n"):
        if hunk := _HUNK.match(line):
            number = int(hunk[1])
        elif line.startswith(("+", " ")):
            in_diff.append(number)
            changed += [number] if line[0] == "+" else []
            number += 1
    return DiffLines(in_diff=frozenset(in_diff), changed=tuple(changed))


def _failing_cases(report: RunReport) -> Iterator[tuple[list[Result], range]]:
    """Cases that are not green on some runner, and their lines: up to the next case of the same file."""
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
        for line, following in pairwise([*sorted(lines), _NO_LIMIT])
    }
    for results in red.values():
        location = results[0].location
        if location and location.line:
            yield results, range(location.line, ends[location.path, location.line])


def review_text(results: list[Result]) -> str:
    """Markdown: the case, and for each runner that is not green why: all assertions that do not hold, then evidence."""
    shown = results[:_RUNNERS]
    share = MAX_REVIEW_CHARACTERS // len(shown)
    name = f"**{markdown_code_span(clipped(results[0].case_id, _NAME))}**"
    title = markdown_inline(case_name(results[0]).removeprefix(results[0].case_id))
    lines = [" ".join(filter(None, (name, title, "is not green"))), ""]
    for result in shown:
        lines += _why(result, share)
    if len(results) > _RUNNERS:
        lines.append(f"- and {len(results) - _RUNNERS} more runners")
    lines += _evidence(shown, share)
    return "\n".join(lines)


def _why(result: Result, most: int) -> Iterator[str]:
    """An entry of a list; several assertions are a numbered list below it."""
    reason, found = cause(result), failed_assertions(result, most, evidence=False)
    head = f"- {_runner(result)} · {markdown_inline(clipped(reason.label, _NAME))}"
    message = markdown_inline(found.message.strip().partition("\n")[0])
    alone = len(found.shown) + found.more == 1 and not message
    entries = [
        f"{number or ('' if alone else '1. ')}{markdown_code_span(one.title)}: {markdown_inline(one.explanation)}"
        for number, one in found.numbered()
    ]
    if alone:
        yield f"{head} · {entries[0]}"
        return
    yield f"{head} · {message}" if message else head
    yield from (f"  {entry}" for entry in entries)
    if found.more:
        yield f"  - and {found.more:,} more"


def _evidence(results: list[Result], most: int) -> Iterator[str]:
    """A folded part with the assertions of each runner and their evidence; nothing without any."""
    found = [(result, failed_assertions(result, most)) for result in results]
    blocks = [(result, listed.text()) for result, listed in found if any(one.body for one in listed.shown)]
    if blocks:
        yield "\n<details><summary>Evidence</summary>\n"
        for result, text in blocks:
            yield f"{_runner(result)}\n\n{markdown_code_block(text)}\n"
        yield "</details>"


def _runner(result: Result) -> str:
    return markdown_code_span(clipped(runner_id(result), _NAME))


@record
class PullRequest:
    """A pull request of the event's repository. ``head_sha``: its newest commit when it was looked up."""

    number: int
    head_sha: str


class NoPullRequestError(Exception):
    """There is no pull request, or more than one. ``unexpected``: whether users may expect a comment on one."""

    def __init__(self, message: str, *, unexpected: bool) -> None:
        super().__init__(message)
        self.unexpected = unexpected


def find_pull_request(api: GitHubApi, event: GitHubEvent) -> PullRequest:
    """Return the pull request of an event. Raises NoPullRequestError, GitHubError.

    Artifacts and names of branches are untrusted, and do not decide it.
    """
    if event.pull is not None:
        if event.head:
            return PullRequest(number=event.pull, head_sha=event.head.sha)
        found = parse_object(Pull, api.get(f"/repos/{event.repository}/pulls/{event.pull}"))
        return PullRequest(number=found.number, head_sha=found.head.sha)
    if event.head is None or not (event.named_commit or (event.head.branch and event.head.repository)):
        if event.name in PULL_REQUEST_EVENTS:
            raise NoPullRequestError(f"the payload of the event {event.name} names none", unexpected=True)
        raise NoPullRequestError(f"the event {event.name} belongs to no pull request", unexpected=False)
    matching = _open_pulls(api, event.repository, event.head)
    if len(matching) != 1:
        how_many = f"{len(matching)} open pull requests have" if matching else "no open pull request has"
        whose = f" of {event.head.repository}" if event.head.repository else ""
        message = f"{how_many} the commit {event.head.sha[:COMMIT_CHARACTERS]}{whose} as its head"
        raise NoPullRequestError(message, unexpected=bool(matching) or event.detached)
    return PullRequest(number=matching[0].number, head_sha=matching[0].head.sha)


def _open_pulls(api: GitHubApi, repository: str, head: Head) -> list[Pull]:
    """Open pull requests with this head. Branch and owner only narrow the search: commit and repository decide.

    A head without a repository may be of any.
    """
    narrowed = {"head": f"{head.repository.partition('/')[0]}:{head.branch}"} if head.repository else {}
    pulls = parse_pages(Pull, api.pages(f"/repos/{repository}/pulls", state="open", **narrowed))
    return [
        pull
        for pull in pulls
        if pull.state == "open"
        and pull.head.sha == head.sha
        and (not head.repository or (pull.head.repo and pull.head.repo.full_name.lower() == head.repository.lower()))
    ]
