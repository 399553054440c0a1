"""Stores with months of results, for the trend page: one as a small project has it, and one of any size."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from skillgym_action.history.path_store import path_store

if TYPE_CHECKING:
    from pathlib import Path

FIRST = datetime(2026, 1, 5, 2, 15, tzinfo=UTC)


def digest(text: str, length: int = 16) -> str:
    """Hexadecimal digits that only depend on the text."""
    return sha256(text.encode()).hexdigest()[:length]


@dataclass(kw_only=True)
class StoredRun:
    """A run to be written. ``suites``: path -> version of its file; ``rows``: entries by suite, case and runner."""

    number: int
    at: datetime
    suites: dict[str, str]
    runners: tuple[str, ...] = ("claude",)
    agents: tuple[str, ...] = ("claude-code",)
    rows: list[dict[str, Any]] = field(default_factory=list)
    head: dict[str, Any] = field(default_factory=dict)

    def add(self, suite: str, case: str, sessions: str, *, runner: str = "claude", **more: Any) -> None:
        """Add an entry; ``prompt`` and the like in ``more`` are words that digests are made of."""
        words = {name: more.pop(name, case) for name in ("prompt", "assertions")}
        self.rows.append(
            {
                "suite": list(self.suites).index(suite),
                "case": case,
                "runner": self.runners.index(runner),
                "inputs": {name: digest(word) for name, word in words.items()} | {"workspace": "0" * 16},
                "sessions": sessions,
                "ms": 20_000,
                **more,
            }
        )

    @property
    def line(self) -> bytes:
        """The line of a store."""
        name = f"{self.at:%Y-%m-%dT%H:%M:%SZ}-{self.number:012x}"
        head = {
            "id": name,
            "group": f"{self.number}/bench",
            "at": f"{self.at:%Y-%m-%dT%H:%M:%SZ}",
            "commit": digest(f"commit {self.number}", 40),
            "branch": "main",
            "link": f"https://github.com/octo/skills/actions/runs/{self.number}",
            "tool": "1.0.0",
        }
        whole = {
            "schema": 1,
            "run": head | self.head,
            "suites": [{"path": path, "digest": digest(version, 64)} for path, version in self.suites.items()],
            "runners": [{"id": id_, "agent": agent} for id_, agent in zip(self.runners, self.agents, strict=True)],
            "entries": self.rows,
        }
        return json.dumps(whole).encode() + b"\n"


def stored(folder: Path, *runs: StoredRun) -> Path:
    """A store in a folder with these runs."""
    store = path_store(folder, "store")
    for run in runs:
        store.add(run.line, f"{run.at.isoformat()}-{run.number}", run.at)
    return folder


# Suite -> case -> the rates of claude and of codex, and of claude after the skill was rewritten.
CASES = {
    "bench/changelog.json": {
        "names-the-area": (0.95, 0.8, 0.97),
        "links-the-pull-request": (0.55, 0.6, 0.92),
        "keeps-old-entries": (1.0, 0.95, 1.0),
        "one-line-for-each-change": (0.8, 0.7, 0.75),
        "says-what-breaks": (0.7, 0.45, 0.4),
    },
    "skills/release/evals/evals.json": {
        "bumps-the-version": (0.9, 0.85, 0.95),
        "tags-the-commit": (0.85, 0.9, 0.9),
        "asks-before-it-pushes": (0.3, 0.1, 0.35),
    },
}


def project_runs(nights: int = 84) -> list[StoredRun]:
    """Runs of a small project each night: models, CLIs and prompts change, and for some nights nothing runs."""
    chance = random.Random(18)
    runs = []
    for night in range(nights):
        if 45 <= night < 52:  # the key had expired
            continue
        rewritten, newer = night >= 33, night >= 60
        run = StoredRun(
            number=7_000 + night,
            at=FIRST + timedelta(days=night, minutes=chance.randrange(20)),
            suites={path: f"{path} {rewritten and 'changelog' in path}" for path in CASES},
            runners=("claude", "codex"),
            agents=("claude-code", "codex"),
        )
        for suite, cases in CASES.items():
            for case, rates in cases.items():
                for at, runner in enumerate(run.runners):
                    if runner == "codex" and night < 14:
                        continue
                    claude = runner == "claude"
                    rate = rates[2] if claude and rewritten else rates[at]
                    sessions = "".join("p" if chance.random() < rate else "f" for _ in range(3))
                    dear = (1.35 if newer else 1.0) if claude else 0.6
                    run.add(
                        suite,
                        case,
                        sessions,
                        runner=runner,
                        prompt=f"{case} {rewritten}" if case == "links-the-pull-request" else case,
                        version=("2.1.202" if newer else "2.1.197") if claude else "0.98.0",
                        model=("claude-sonnet-5" if newer else "claude-sonnet-4-6") if claude else "gpt-5.3-codex",
                        usd=round(dear * (0.05 + 0.06 * chance.random()), 4),
                        ms=round(1000 * (18 + 14 * chance.random()) * (0.8 if newer and claude else 1)),
                        **({"expectedFail": True} if case == "asks-before-it-pushes" else {}),
                    )
        runs.append(run)
    return runs
