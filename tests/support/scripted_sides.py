"""A repository with two commits, and agents whose sessions pass or fail as a test has written down for each side."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from scratch import PASSING, case, committed, config, git_in, repository, runner, skillgym, suite, written

if TYPE_CHECKING:
    from pathlib import Path

    from scratch import Ran

# The n-th session of a case on a side passes if the n-th character of its line is 1, or else the last one; with x the
# provider has trouble, and the session is errored. The side is a file of the commit that the workspace is a copy of.
_AGENT = (
    'IFS= read -r prompt; id=${prompt##* }; side=$(cat side.txt); echo "$side $id" >> "$LOG/sessions"; '
    'echo x >> "$LOG/$side-$id"; n=$(wc -l < "$LOG/$side-$id"); '
    'said=$(cat "$LOG/said-$side-$id" 2> /dev/null || echo 1); '
    'end=${#said}; [ "$n" -le "$end" ] || n=$end; one=$(printf %s "$said" | cut -c "$n"); '
    f"""[ "$one" != x ] || {{ printf '%s\\n' '{json.dumps({"type": "error", "class": "auth", "message": "x"})}'; }}; """
    f"""printf '%s\\n' '{json.dumps({"type": "session", "cost": {"usd": 0.25}})}'; [ "$one" != 1 ] || {PASSING}"""
)


@dataclass
class Sides:
    """The repository in ``root``, whose agents look up in ``log`` what becomes of their sessions."""

    root: Path
    log: Path

    @classmethod
    def of(cls, folder: Path, cases: str, *, run: dict[str, Any] | None = None, **more: Any) -> Sides:
        """A repository with a base commit on ``main`` and a head on ``topic``; each letter is a case."""
        sides = cls(folder / "repo", folder / "log")
        sides.log.mkdir()
        told = suite(*(case(name, prompt=f"Prompt {name}") for name in cases))
        files = {
            "bench/core.json": told,
            "skillgym.config.yaml": config(
                runner(_AGENT, output="events", model="one", env={"LOG": str(sides.log)}), run=run or {}, **more
            ),
            "side.txt": "base",
            ".gitignore": "runs\nstored\n",
        }
        repository(sides.root, files, git=True)
        git_in(sides.root, "checkout", "--quiet", "-b", "topic")
        written(sides.root, {"side.txt": "head"})
        committed(sides.root)
        return sides

    def say(self, **outcomes: str) -> None:
        """What becomes of the sessions: ``head_a="0011"``."""
        for name, text in outcomes.items():
            (self.log / f"said-{name.replace('_', '-')}").write_text(text)

    def stored(self, repetitions: int = 10) -> str:
        """The name of results of the base commit."""
        git_in(self.root, "checkout", "--quiet", "main")
        ran = skillgym("run", "--output", "runs/stored", "--repeat", str(repetitions), cwd=self.root)
        assert ran.code in (0, 1), ran.err
        git_in(self.root, "checkout", "--quiet", "topic")
        self.forget()
        return "runs/stored"

    def forget(self) -> None:
        """Begin to count sessions anew."""
        for file in self.log.iterdir():
            if not file.name.startswith("said-"):
                file.unlink()

    def run(self, *args: str, output: str | None = "runs/out", **env: str) -> Ran:
        named = ("--output", output) if output else ()
        return skillgym("run", *named, *args, cwd=self.root, **env)

    def held(self) -> dict[str, int]:
        """The number of sessions of each side and case."""
        file = self.log / "sessions"
        lines = file.read_text().splitlines() if file.exists() else []
        return {line: lines.count(line) for line in sorted(set(lines))}

    def results(self, output: str = "runs/out") -> dict[str, Any]:
        return json.loads((self.root / output / "results.json").read_text(encoding="utf-8"))

    def adaptive(self, output: str = "runs/out") -> dict[str, Any]:
        return self.results(output)["run"]["adaptive"]
