"""The issue about agents that have changed. ``python3 tools/drift_issue.py drift.json`` opens it, or changes it.

The facts come from a job in which the newest programs of others ran: what is in them is shown as code, in which nobody
is mentioned and nothing is a link. Python alone is needed, and ``gh`` with ``GH_TOKEN`` and ``GH_REPO``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

TITLE = "The newest agents differ from the verified ones"
MOST_CHARACTERS = 60_000  # of the body; GitHub takes 65,536
MOST_BYTES = 5_000_000  # of the facts
MOST_LINES = 60  # of one agent
HOW_TO = """\
The newest release of each CLI was tested. To take one over: change its version in `AGENTS`, record its captures \
(`tools/record_captures.py`) and its events (`tools/agent_events.py`), and explain what differs. \
`make test-agents LATEST=1` runs these tests on your machine.
"""


def issue_of(facts: dict[str, Any]) -> str | None:
    """The text of the issue; None where there is no difference."""
    agents = {str(name): said for name, said in facts["agents"].items() if _differs(said)}
    failed = [f"{test.get('name')}\n  {_one_line(test.get('message'))}" for test in facts["failed"]]
    if not agents and not failed:
        return None
    parts = [HOW_TO]
    for name, said in agents.items():
        parts += [f"## {re.sub(r'[^a-z-]', '', name)}", _code(_facts_of(said), "diff")]
    if failed:
        parts += ["## Tests that failed", _code(failed)]
    return _cut("\n".join(parts))


def _differs(said: dict[str, Any]) -> bool:
    changed = said.get("version") != said.get("verified")
    return changed or any(said.get(key) for key in ("differences", "problem", "deprecated"))


def _facts_of(said: dict[str, Any]) -> list[str]:
    lines = [f"- {said.get('package')} {said.get('verified')}"]
    if version := said.get("version"):
        node = said.get("engines.node")
        lines.append(f"+ {said.get('package')} {version}" + (f", needs Node.js {node}" if node else ""))
    lines += [f"! {what}: {_one_line(said[what])}" for what in ("deprecated", "problem") if said.get(what)]
    found = [str(line) for line in said.get("differences", ())]
    more = len(found) - MOST_LINES
    return [*lines, *found[:MOST_LINES], *([f"… and {more} more lines"] if more > 0 else [])]


def _one_line(text: object) -> str:
    return " ".join(str(text).split())


def _code(lines: list[str], language: str = "") -> str:
    """A block of code that nothing in it can end."""
    text = "\n".join(lines).replace("\r", "\n")
    fence = "`" * max(3, *(len(run) + 1 for run in re.findall(r"`+", text) or [""]))
    return f"{fence}{language}\n{text}\n{fence}\n"


def _cut(body: str) -> str:
    """The body up to the limit; a block of code that is cut ends with the body."""
    return body if len(body) <= MOST_CHARACTERS else f"{body[:MOST_CHARACTERS]}\n… cut\n"


def _gh(*arguments: str, given: str | None = None) -> str:
    return subprocess.run(("gh", *arguments), input=given, stdout=subprocess.PIPE, text=True, check=True).stdout


def open_issue(body: str) -> None:
    """Open the issue, or change the text of the one that is open."""
    fields = ("number", "title", "author")
    listed = json.loads(_gh("issue", "list", "--state=open", "--limit=1000", f"--json={','.join(fields)}"))
    # Others may use the title, too.
    ours = [issue["number"] for issue in listed if issue["title"] == TITLE and issue["author"].get("is_bot")]
    if ours:
        print(_gh("issue", "edit", str(min(ours)), "--body-file=-", given=body), end="")
    else:
        print(_gh("issue", "create", f"--title={TITLE}", "--body-file=-", given=body), end="")


if __name__ == "__main__":
    with Path(sys.argv[1]).open("rb") as file:
        text = issue_of(json.loads(file.read(MOST_BYTES)))
    if text is None:
        print("no difference")
    else:
        print(text)
        open_issue(text)
