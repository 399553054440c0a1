"""Reporter: the HTML report, one file that loads nothing. Its pages of sessions are data that its script shows.

The overview is rendered from a report template that users may override. The data of sessions is written behind it piece
by piece and does not pass through the template, so that memory does not grow with the report. A content security policy
allows the packaged script and the styles of the page, by their hashes, and nothing else.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from skillgym_action.comparison.differences import limits_in_words
from skillgym_action.limits import (
    MAX_HTML_BYTES,
    MAX_HTML_SESSION_BYTES,
    MIN_HTML_SESSION_BYTES,
    RED_SESSION_WEIGHT,
)
from skillgym_action.model.errors import ConfigError, Problem
from skillgym_action.model.session_artifacts import NOT_STORED
from skillgym_action.model.verdicts import GREEN
from skillgym_action.reporters.html_matrix import shown_executions
from skillgym_action.reporters.html_session import Arms, address, execution_data, fitted, session_data, session_id
from skillgym_action.reporters.html_view import FixedParts, html_view
from skillgym_action.reporters.markdown import PACKAGED, environment
from skillgym_action.text.escaping import html_data, html_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from skillgym_action.model.result import Attempt, Result
    from skillgym_action.model.run_report import RunReport
    from skillgym_action.model.session_artifacts import ArtifactSource
    from skillgym_action.reporters.markdown import Templates

TEMPLATE = "report.html.j2"
# Marks in the rendered template. All text in it is escaped, so that none can contain them.
_POLICY, _SESSIONS = "<!-- policy -->", "<!-- sessions -->"
_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL | re.IGNORECASE)
# What may be before the policy. Anything else, even text, begins the body, and there browsers ignore the policy.
_ATTRIBUTES = r"""(?:[^<>"']|"[^"<>]*"|'[^'<>]*')*"""
_HEAD = re.compile(
    rf"(?:\s|<!doctype\b{_ATTRIBUTES}>|<(?:html|head|meta)\b{_ATTRIBUTES}>|<title>[^<]*</title>|<!--[^<>]*-->)*",
    re.IGNORECASE,
)


def render(
    report: RunReport, *, templates: Templates | None = None, artifacts: ArtifactSource | None = None
) -> Iterator[str]:
    """Yield the report in pieces. Without ``artifacts`` sessions have what the results have about them.

    Raises ConfigError for ``templates`` that do not work.
    """
    head, _, foot = _page(report, templates).partition(_SESSIONS)
    yield head
    if foot:
        yield from _sessions(report, artifacts)
        yield foot


@cache
def packaged_source(name: str) -> str:
    """The source of a packaged script or style."""
    return (PACKAGED / name).read_text(encoding="utf-8")


def _page(report: RunReport, templates: Templates | None) -> str:
    """The rendered template, with the policy."""
    script, style = f"\n{packaged_source('report.js')}", f"\n{packaged_source('report.css')}"
    view = html_view(report, FixedParts(_POLICY, style, script, _SESSIONS))
    if templates and templates.replaces(TEMPLATE):
        page = templates.rendered(TEMPLATE, view)
    else:
        page = environment().get_template(TEMPLATE).render(view=view)
    before = page.partition(_POLICY)[0]
    if page.count(_POLICY) != 1 or page.count(_SESSIONS) > 1 or not _HEAD.fullmatch(before):
        message = f"{TEMPLATE}: the head has to begin with view.policy, once, and view.sessions may be there once"
        raise ConfigError.of(Problem(message=message, remedy="correct the report template; the built-in one is used"))
    return page.replace(_POLICY, policy(script, _STYLE.findall(page)))


def policy(script: str | None, styles: list[str]) -> str:
    """The element with a content security policy that allows these styles, embedded images, and the script if any."""
    hashes = " ".join(dict.fromkeys(map(_hash, styles))) or "'none'"
    script_hash = "'none'" if script is None else _hash(script)
    rules = (
        "default-src 'none'",
        f"script-src {script_hash}",
        f"style-src {hashes}",
        "img-src data:",
        "base-uri 'none'",
        "form-action 'none'",
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{"; ".join(rules)}">'


def _hash(source: str) -> str:
    """As browsers compute it: parsers of HTML read each line end as a line feed."""
    text = source.replace("\r\n", "\n").replace("\r", "\n")
    return f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'"


# --- the data of sessions -----------------------------------------------------------------------------


def _sessions(report: RunReport, artifacts: ArtifactSource | None) -> Iterator[str]:
    """A script element with data for each execution and each session.

    What a session does not use of its space is shared by those after it; sessions that are not green get more. Those of
    other arms come last. Executions that the tables leave out have no page, and their sessions are counted.
    """
    left = MAX_HTML_BYTES
    arms = Arms(report.results, report.other_arms)
    shown = [
        result for some in (report.results, report.other_arms, report.quarantined) for result in shown_executions(some)
    ]
    weights = sum(_weight_of(result, arms) * (1 + len(result.attempts)) for result in shown)
    before = _sessions_before(report)
    yield _data("settings", html_data(json.dumps(dict(limits_in_words(report.limits)))))
    left_out = 0
    if len(shown) < len(report.all_results):
        left_out = sum(len(result.attempts) for result in report.all_results)
        left_out -= sum(len(result.attempts) for result in shown)
    for result in shown:
        weight = _weight_of(result, arms)
        text, _ = fitted(execution_data(result, report.links, arms), _space(left, weight, weights))
        yield _data(f"execution-{result.index}", text, address(result, other=arms.is_other(result)))
        left, weights = left - len(text), weights - weight
        for attempt in result.attempts if artifacts else ():
            space = _space(left, weight, weights)
            text = _session(attempt, artifacts, before.get(id(result)), space) if artifacts else ""
            weights -= weight
            if not text:
                left_out += 1
                continue
            yield _data(session_id(result.index, attempt), text)
            left -= len(text)
    yield _data("left-out", str(left_out))


def _weight_of(result: Result, arms: Arms) -> int:
    """Sessions that are not green need more space; those of other arms are rarely read."""
    return 1 if result.status in GREEN or arms.is_other(result) else RED_SESSION_WEIGHT


def _space(left: int, weight: int, weights: int) -> int:
    return min(max(0, left) * weight // max(1, weights), MAX_HTML_SESSION_BYTES)


def _session(attempt: Attempt, artifacts: ArtifactSource, before: str | None, space: int) -> str:
    """The data of a session; empty if there is no space for it."""
    if space < MIN_HTML_SESSION_BYTES:
        return ""
    stored = artifacts.session(attempt.directory, max(space // 2, MIN_HTML_SESSION_BYTES))
    baseline = artifacts.baseline_session(before, MIN_HTML_SESSION_BYTES) if before else NOT_STORED
    text, fits = fitted(session_data(stored, baseline), space)
    return text if fits else ""


def _sessions_before(report: RunReport) -> dict[int, str]:
    """The session of the baseline that is compared with, by the identity of the result of this run.

    One that ended differently is preferred: it says more about why the other failed.
    """
    comparison = report.comparison
    if comparison is None:
        return {}
    found = {}
    for pair in (*comparison.newly_failing, *comparison.fixed, *comparison.changed):
        if attempt := _other(pair.before, pair.after):
            found[id(pair.after)] = attempt.directory
    return found


def _other(before: Result, after: Result) -> Attempt | None:
    own = after.attempts[0].status if after.attempts else None
    return next((attempt for attempt in before.attempts if attempt.status != own), next(iter(before.attempts), None))


def _data(id_: str, text: str, shown_at: str = "") -> str:
    """An element with JSON. ``shown_at``: the fragment at which the script shows it."""
    attribute = f' data-address="{html_text(shown_at)}"' if shown_at else ""
    return f'<script type="application/json" id="{id_}"{attribute}>{text}</script>\n'
