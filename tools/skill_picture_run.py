"""The run of a skill's evals that the pictures show: a pull request that adds a skill.

The real Claude Code and the real Codex answer the questions of an ``evals.json`` with the skill and without it. Their
scripted model knows the team's form of a report only if the skill is in what the CLI sends; a scripted judge decides
each expectation by what the session left.
"""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from action_step import step
from agent_clis import agent_cli, search_path
from agent_desk import wiring
from github_server import GitHubServer
from github_state import PullRequest
from model_anthropic import Anthropic
from model_protocols import Ask
from model_script import Call
from model_server import ModelServer
from paths import REPOSITORY
from scratch import IDENTITY, git_in, skillgym, written
from scripted_http import Reply, ScriptedServer
from skill_scripts import DEPLOY, DESCRIPTION, FOLDER, LOG, PROMPTS, QUIET, SKILL, WITH, WITHOUT

if TYPE_CHECKING:
    from pathlib import Path

    from scripted_http import Received

SLUG, NUMBER = "acme/shop", 57
SERVER = "https://github.com"
RUN = ".skillgym-results/pull-57"
SUITE = f"{FOLDER}/evals/evals.json"
MODELS = {"claude-code": "claude-sonnet-4-6", "codex": "gpt-5.1-codex"}
JUDGE = "claude-haiku-4-5"
JUDGE_KEY = "sk-judge-0123456789"
EVALS: dict[str, Any] = {
    "skill_name": SKILL,
    "evals": [
        {
            "id": "outage",
            "prompt": PROMPTS[0],
            "files": [LOG],
            "expectations": [
                "INCIDENT.md says how many minutes the outage lasted",
                "INCIDENT.md says how many requests failed",
                "All times in INCIDENT.md are in UTC",
            ],
        },
        {
            "id": "failed-deployment",
            "prompt": PROMPTS[1],
            "files": [DEPLOY],
            "expectations": [
                "INCIDENT.md names no person",
                "Every follow-up has a team that owns it",
                "INCIDENT.md names the cause: the table discounts was missing",
            ],
        },
        {
            "id": "follow-ups",
            "prompt": PROMPTS[2],
            "files": [LOG],
            "expectations": [
                "Every follow-up has a team that owns it",
                {"type": "file_contains", "path": "INCIDENT.md", "value": "## Timeline"},
            ],
        },
        {
            "id": "both-logs",
            "prompt": PROMPTS[3],
            "files": [LOG, DEPLOY],
            "expectations": [
                "The timeline has the events of both logs, in the order of time",
                "INCIDENT.md says how many requests failed",
                {"text": "The follow-ups have dates", "advisory": True},
            ],
        },
        {
            "id": "no-incident",
            "prompt": PROMPTS[4],
            "files": [QUIET],
            "expectations": ["The answer says that there was none", "No report was written"],
        },
        {
            "id": "one-sentence",
            "prompt": PROMPTS[5],
            "files": [LOG],
            "expectations": ["The answer says that it ended at 10:19:40", "No report was written"],
        },
    ],
}
# What decides each expectation: a pattern that what the session left has, or has not; and what the judge says then.
DECISIONS: dict[str, tuple[str, bool, str]] = {
    "INCIDENT.md says how many minutes the outage lasted": (
        r"^Duration: \d+ minutes$",
        True,
        "INCIDENT.md gives no duration",
    ),
    "INCIDENT.md says how many requests failed": (
        r"^Impact: \d+ requests failed$",
        True,
        'INCIDENT.md says "some requests", no number',
    ),
    "All times in INCIDENT.md are in UTC": (r"^- 09:12Z.*$", True, "10:12 is the local time of the log"),
    "INCIDENT.md names no person": (r"Grace Miller", False, 'INCIDENT.md: "Grace Miller rolled out carts 2.3.0"'),
    "Every follow-up has a team that owns it": (r"^- .* \(team \w+\)$", True, "the follow-up names no team"),
    "INCIDENT.md names the cause: the table discounts was missing": (
        r"^.*table discounts.*$",
        True,
        "the cause is not named",
    ),
    "The timeline has the events of both logs, in the order of time": (
        r"^- 09:12Z.*rollout.*\n- 09:12Z.*fail",
        True,
        "the timeline has the events of one log only",
    ),
    "The follow-ups have dates": (r"\(team \w+, by 2026", True, "no follow-up has a date"),
    "The answer says that there was none": (r"no incident", True, "the answer does not say so"),
    "No report was written": (r"INCIDENT\.md \(created", False, "INCIDENT.md was created"),
    "The answer says that it ended at 10:19:40": (r"10:19:40", True, "the answer gives no time"),
}


@dataclass(frozen=True)
class SkillRun:
    """``directory``: of the run. ``sent``: the bodies of all requests to models; ``asked``: to the judge."""

    root: Path
    directory: Path
    results: dict[str, Any]
    err: str
    sent: list[Any] = field(repr=False)
    asked: list[str] = field(repr=False)


def skill_run(folder: Path) -> SkillRun:
    """Run the evals in both arms on both agents, in a new folder; whatever becomes of them."""
    root = folder / "shop"
    _repository(root)
    with ModelServer() as models, ScriptedServer(otherwise=_judged) as judge:
        _configured(root, models)
        env = {"ANTHROPIC_API_KEY": JUDGE_KEY, "ANTHROPIC_BASE_URL": judge.url, "PATH": search_path()}
        ran = skillgym("run", "--jobs", "2", "--keep", "all", "--output", RUN, cwd=root, limit=900, **env)
        sent = [request.body for request in models.requests]
        asked = [request.body["messages"][0]["content"] for request in judge.requests]
    assert ran.code in (0, 1), ran.err
    results = json.loads((root / RUN / "results.json").read_text(encoding="utf-8"))
    return SkillRun(root, root / RUN, results, ran.err, sent, asked)


def _repository(root: Path) -> None:
    """The shop before the pull request, and the pull request's commit, which adds the skill."""
    written(root, {"README.md": "# Shop\n", ".gitignore": ".skillgym-results/\nskillgym.config.json\n"})
    git_in(root, "init", "--quiet", "--initial-branch=main")
    _commit(root, "A shop")
    git_in(root, "checkout", "--quiet", "-b", "incident-reports")
    shutil.copytree(REPOSITORY / "examples" / FOLDER, root / FOLDER, ignore=shutil.ignore_patterns("*.json"))
    written(root, {SUITE: json.dumps(EVALS, indent=2)})
    _commit(root, "A skill for incident reports")


def _commit(root: Path, message: str) -> None:
    git_in(root, "add", "--all")
    git_in(root, *IDENTITY, "commit", "--quiet", f"--message={message}")


def _configured(root: Path, models: ModelServer) -> None:
    runners = {
        agent.partition("-")[0]: {
            "agent": {
                "type": agent,
                "model": model,
                "command": str(agent_cli(agent)),
                "env": wiring(agent, models.told(DESCRIPTION, WITH[agent], WITHOUT)),
            }
        }
        for agent, model in MODELS.items()
    }
    judge = {"api": "anthropic", "model": JUDGE}
    written(root, {"skillgym.config.json": json.dumps({"runners": runners, "run": {"judge": judge}})})


def _judged(request: Received) -> Reply:
    """The judge's answer: each statement is decided by what the session left."""
    text = request.body["messages"][0]["content"]
    material, _, statements = text.rpartition("Decide each of these statements")
    answers = [
        {"id": id_, **_decided(statement, material)}
        for id_, statement in re.findall(r"^- \[(q\d+)\] (.+)$", statements, re.MULTILINE)
    ]
    ask = Ask(position=0, tools={}, model=JUDGE, stream=False)
    return Reply(body=Anthropic().whole(ask, [Call("answer", {"answers": answers})]))


def _decided(statement: str, material: str) -> dict[str, Any]:
    pattern, wanted, missing = DECISIONS[statement]
    found = re.search(pattern, material, re.MULTILINE)
    if (found is not None) is not wanted:
        return {"passed": False, "evidence": missing}
    return {"passed": True, "evidence": f'"{found.group().strip()}"' if found else "nothing of the kind is there"}


def reported(ran: SkillRun) -> tuple[str, str]:
    """The summary and the comment that the action writes about the run."""
    head = git_in(ran.root, "rev-parse", "HEAD").strip()
    pull = {"number": NUMBER, "head": {"sha": head, "ref": "incident-reports", "repo": {"full_name": SLUG}}}
    inputs = {"mode": "report", "results": RUN}
    variables = {"GITHUB_REPOSITORY": SLUG, "GITHUB_SERVER_URL": SERVER, "GITHUB_SHA": head, "GITHUB_RUN_ID": "7311"}
    with GitHubServer(SLUG) as github:
        github.add_pull(PullRequest(number=NUMBER, head_sha=head, head_branch="incident-reports", files=()))
        payload = {"action": "synchronize", "pull_request": pull}
        done = step(ran.root, github, inputs, event=("pull_request", payload), **variables)
        assert done.code == 1, done.said + done.log
        (comment,) = github.comments(NUMBER)
    return done.summary, comment.body
