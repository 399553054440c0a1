"""Follow-up questions: what is stored so that `explain` can ask the agent about a failure after the run."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from skillgym_action.model.json_codec import to_json
from skillgym_action.model.records import record

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.judgement import FollowUp, Judgement
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.services import Services
    from skillgym_action.workspaces.workspace import SessionWorkspace

EXPLAIN = "explain.json"
HOME = "session-home"


@record(kw_only=False)
class FollowUpRecord:
    """What `explain` needs to resume a session.

    ``records``: the agent's own records of the session, below ``home`` as they were below the agent's home.
    ``archive``: where its workspace is archived, relative to the run directory.
    """

    questions: tuple[FollowUp, ...]
    report: SessionReport
    home: Path
    records: tuple[Path, ...]
    archive: str


def follow_ups(judgement: Judgement) -> tuple[FollowUp, ...]:
    """The questions of the assertions that failed."""
    return tuple(question for outcome in judgement.outcomes for question in outcome.follow_ups)


def store_follow_up(
    services: Services, execution: Execution, workspace: SessionWorkspace, folder: Path, record: FollowUpRecord
) -> None:
    """Write the questions, and the agent's records of the session.

    Agents find their records by the path of the workspace, so the paths are stored, too.
    """
    services.directory.keep(record.records, record.home, folder / HOME)
    document = {
        "suitePath": execution.suite.path,
        "caseId": execution.case.id,
        "runnerId": execution.runner.id,
        "agentType": execution.runner.agent.type,
        "model": execution.model,
        "cwd": str(workspace.path),
        "home": str(workspace.home),
        "workspace": record.archive if workspace.is_own else None,
        "sessionId": record.report.session_id,
        **({"inContainer": True} if workspace.in_container else {}),
        "questions": [to_json(question) for question in record.questions],
    }
    services.directory.write(folder / EXPLAIN, json.dumps(document, indent=1))
