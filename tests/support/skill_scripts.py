"""What a model does that is asked for incident reports: with the skill of the examples, and without it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from model_script import Read, Say, Shell, Skill, Write
from paths import REPOSITORY

if TYPE_CHECKING:
    from model_script import Step

SKILL = "incident-report"
FOLDER = f"skills/{SKILL}"
(DESCRIPTION,) = re.findall(
    r"^description: (.+)$", (REPOSITORY / "examples" / FOLDER / "SKILL.md").read_text(encoding="utf-8"), re.MULTILINE
)
LOG, DEPLOY, QUIET = (f"evals/files/{name}.log" for name in ("api", "deploy", "quiet"))
PROMPTS = (
    "Write the incident report of this morning's outage. The log is api.log.",
    "We need a postmortem of the deployment in deploy.log, as INCIDENT.md.",
    "Write INCIDENT.md for the outage in api.log, and keep it short.",
    "Write one incident report from api.log and deploy.log.",
    "Was there an incident in quiet.log? If so, report it.",
    "When did the outage in api.log end? One sentence, no file.",
)

Script = tuple["Step", ...]
HEAD = "# Incident: orders could not be placed\n\n"
TIMES = "Duration: 7 minutes\nImpact: 3 requests failed\n\n## Timeline\n\n"
FAILED, ENDED = "- 09:12Z requests to carts fail", "- 09:19Z requests succeed again\n"
ROLLOUT = "- 09:12Z rollout of carts 2.3.0\n"
FOLLOW_UPS = "\n## Follow-ups\n\n- Run migrations before a rollout (team carts)\n"
DONE = Say("The report is in INCIDENT.md.")
_REPORT = f"{HEAD}{TIMES}{FAILED}\n{ENDED}{FOLLOW_UPS}"
_OF_BOTH = f"{HEAD}{TIMES}{ROLLOUT}{FAILED}: no such table discounts\n{ENDED}{FOLLOW_UPS}"
_FREE = (
    "# Outage on Wednesday morning\n\nFrom 10:12 to 10:19 some requests to /orders failed. Carts was down.\n\n"
    "## Follow-ups\n\n- Watch carts more closely\n"
)
_BLAMING = (
    "# Failed deployment\n\nGrace Miller rolled out carts 2.3.0 at 10:12, and the table discounts was missing.\n\n"
    "## Follow-ups\n\n- Test migrations\n"
)
_NO_INCIDENT: Script = (Read(QUIET), Say("There was no incident: every health check in quiet.log was answered."))
_ONE_SENTENCE: Script = (Read(LOG), Say("The outage ended at 10:19:40, with the first order that succeeded again."))


def _with(text: str, *logs: str) -> Script:
    return (Skill(SKILL), Shell(f"cat {' '.join(logs)}"), Write("INCIDENT.md", text), DONE)


def _without(text: str, *logs: str) -> Script:
    return (Shell(f"cat {' '.join(logs)}"), Write("INCIDENT.md", text), DONE)


def _by_prompt(*scripts: Script) -> dict[str, tuple[Script, ...]]:
    return {prompt: (script,) for prompt, script in zip(PROMPTS, scripts, strict=True)}


WITHOUT = _by_prompt(
    _without(_FREE, LOG),
    _without(_BLAMING, DEPLOY),
    _without(_FREE, LOG),
    _without(_BLAMING, LOG, DEPLOY),
    _NO_INCIDENT,
    _ONE_SENTENCE,
)
WITH = {
    "claude-code": _by_prompt(
        _with(_REPORT, LOG),
        _with(_OF_BOTH, DEPLOY),
        _with(_REPORT, LOG),
        _with(_OF_BOTH, LOG, DEPLOY),
        _NO_INCIDENT,
        _ONE_SENTENCE,
    ),
    # It takes the skill too far: a report where a sentence was asked for.
    "codex": _by_prompt(
        _with(_REPORT, LOG),
        _with(_OF_BOTH, DEPLOY),
        _with(_REPORT, LOG),
        _with(_REPORT, LOG, DEPLOY),
        _NO_INCIDENT,
        (*_with(_REPORT, LOG)[:-1], Say("It ended at 10:19:40; INCIDENT.md has the details.")),
    ),
}
# The trigger queries of the examples.
TRIGGERS: dict[str, tuple[Script, ...]] = {
    "Carts was down for seven minutes today.": ((Skill(SKILL), DONE),),
    "We need a postmortem of the failed deployment.": ((Skill(SKILL), DONE),),
    "How many lines has api.log?": ((Say("There is no api.log in this folder."),),),
    "Open an issue: the cart forgets its items.": ((Say("I cannot open issues from here."),),),
}
