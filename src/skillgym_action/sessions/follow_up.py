"""Part of a session: what is kept so that its agent can be asked about a failure, once the run is over."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.model.json_codec import to_json

if TYPE_CHECKING:
    from pathlib import Path

    from skillgym_action.model.execution import Execution
    from skillgym_action.model.result import FollowUp, Judgement
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.services import Services
    from skillgym_action.workspaces.workspace import Workspace

EXPLAIN = "explain.json"
HOME = "session-home"


@dataclass(frozen=True, slots=True)
class FollowUpRecord:
    """What belongs to the questions: the session, the agent's own ``records``, where its workspace is ``kept``.

    ``records`` lie below ``folder`` as they did below the agent's home.
    """

    questions: tuple[FollowUp, ...]
    report: SessionReport
    folder: Path
    records: tuple[Path, ...]
    kept: str


def follow_ups(judgement: Judgement) -> tuple[FollowUp, ...]:
    """The questions of the assertions that failed."""
    return tuple(question for outcome in judgement.outcomes for question in outcome.follow_ups)


def store_follow_up(
    services: Services, execution: Execution, workspace: Workspace, folder: Path, told: FollowUpRecord
) -> None:
    """Write the questions, and what of the agent's home its resuming needs.

    A session finds its records by the path of its workspace, hence the paths.
    """
    services.directory.keep(told.records, told.folder, folder / HOME)
    document = {
        "suitePath": execution.suite.path,
        "caseId": execution.case.id,
        "runnerId": execution.runner.id,
        "agentType": execution.runner.agent.type,
        "model": execution.model,
        "cwd": str(workspace.path),
        "home": str(workspace.home),
        "workspace": told.kept if workspace.is_own else None,
        "sessionId": told.report.session_id,
        "questions": [to_json(question) for question in told.questions],
    }
    services.directory.write(folder / EXPLAIN, json.dumps(document, indent=1))
