"""`make compare-agentv`: AgentV and we run the suites of data/compare-agentv; what differs is on purpose, or an error.

AgentV comes from npm: 40 seconds and 800 MB, once, in .cache/agentv.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import modules_of_tests
from compare_suites import write_tables
from paths import DATA
from skillgym_package import CACHE, new_node

VERSION = "4.42.4"
SUITES = DATA / "compare-agentv"
FEWEST = 400
"""Tests that have to be compared: fewer, and something was not found."""


class Test(NamedTuple):
    suite: str
    id: str

    def __str__(self) -> str:
        return f"{self.suite}/{self.id}"


class Grade(NamedTuple):
    """``status`` is AgentV's word: ok, quality_failure or execution_error."""

    score: float
    status: str

    def __str__(self) -> str:
        return f"{self.score:g} {self.status}"


Grades = dict[Test, Grade]


@dataclass(frozen=True)
class Purpose:
    """Why a test differs. ``number``: AgentV's defect, D1 to D18; "-" where it is none of those.

    ``compat``: it differs with ``--agentv-compat``, too.
    """

    number: str
    theirs: str
    ours: str
    why: str
    compat: bool = True


ABSENT = "absent"
NO, OK = "0 quality_failure", "1 ok"
ERROR = "0 execution_error"
ANY_TRIAL = "the score of all trials decides, not that one of them passed"
PURPOSES = {
    Test("beside", "b"): Purpose("D1", NO, OK, "the workspace beside a case is its own", compat=False),
    Test("beside", "c"): Purpose("D5", NO, OK, "a command's files are looked for beside the case"),
    Test("composite", "negated-member"): Purpose("-", OK, "0.5 quality_failure", "negate holds in a composite, too"),
    Test("defaults", "after-failure"): Purpose("-", OK, ERROR, "a failure counts for what depends on it"),
    Test("hooks", "after-each"): Purpose("D13", NO, OK, "graders come before what cleans up", compat=False),
    Test("hooks", "dev-stdin"): Purpose("D8", NO, OK, "a grader may open /dev/stdin"),
    Test("programs", "empty-object"): Purpose("-", NO, ERROR, "an answer without a score judges nobody", compat=False),
    Test("programs", "false"): Purpose("D15", OK, NO, "false is a no", compat=False),
    Test("programs", "logs-then-json"): Purpose("D15", OK, "0.25 quality_failure", "logs go before it", compat=False),
    Test("programs", "not-started"): Purpose("-", NO, ERROR, "a broken grader judges nobody", compat=False),
    Test("programs", "number"): Purpose("D15", OK, "0.4 quality_failure", "a number is a score", compat=False),
    Test("programs", "reads-workspace-path"): Purpose("-", OK, NO, "graders are always told where the agent worked"),
    Test("programs", "score-above-1"): Purpose("-", OK, ERROR, "a scale to 100 is no full score", compat=False),
    Test("programs", "score-below-0"): Purpose("-", NO, ERROR, "a score below 0 judges nobody", compat=False),
    Test("programs", "score-left-out"): Purpose("D18", NO, OK, "0 of a score left out is no score", compat=False),
    Test("scores", "42"): Purpose("D9", ABSENT, OK, "a number is an id, with a warning"),
    Test("scores", "negative-weight"): Purpose("D4", ABSENT, ERROR, "a test that cannot be used does not vanish"),
    Test("talk", "missing"): Purpose("-", "0.5 quality_failure", ERROR, "a turn without an answer is no wrong answer"),
    Test("talk", "noinput"): Purpose("D4", ABSENT, OK, "turns are enough of an input"),
    Test("text", "regex-invalid"): Purpose("-", NO, ERROR, "a mistake of the suite's is not the agent's"),
    Test("text", "regex-unknown-flag"): Purpose("-", NO, ERROR, "a mistake of the suite's is not the agent's"),
    **{
        Test(suite, test): Purpose("D12", f"{score} ok", f"{score} quality_failure", ANY_TRIAL)
        for suite, score, tests in (
            ("paid-interval", "0", ("paid-interval-a-ab-ab", "paid-interval-ab-a-a")),
            ("paid-mean", "0.75", ("paid-mean-a-ab-ab", "paid-mean-ab-a-a")),
            ("trials-interval", "0", ("interval-first-0_5", "interval-first-None", "interval-last-0_5")),
            ("trials-interval", "0", ("interval-last-None", "interval-never-0_5")),
            ("trials-interval", "0.1162", ("interval-two-0_5", "interval-two-None")),
            ("trials-mean", "0.5", ("mean-first-None", "mean-last-None")),
            ("trials-mean", "0.3333", ("mean-never-0_5",)),
        )
        for test in tests
    },
    Test("trials-pass", "pass-last-0_5"): Purpose("-", OK, "0.5 ok", "a trial succeeds by the threshold of its test"),
    **{
        Test("target-second-choice", test): Purpose("-", theirs, ERROR, "another agent's answer is not this one's")
        for test, theirs in (("good", OK), ("half", "0.5 quality_failure"), ("quotes", OK))
    },
}


@dataclass(frozen=True)
class Difference:
    test: Test
    theirs: str
    ours: str
    purpose: Purpose | None

    def __str__(self) -> str:
        reason = f"{self.purpose.number}: {self.purpose.why}" if self.purpose else "NOT ON PURPOSE"
        return f"  {self.test!s:32} {self.theirs:22} {self.ours:22} {reason}"


# --- the two programs -------------------------------------------------------------------------------


@cache
def agentv() -> Path:
    """Its CLI. Raises CalledProcessError when npm cannot install it."""
    folder = CACHE / "agentv" / VERSION
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder.parent) as half_made:
            prefix = Path(half_made, "whole")
            options = ("--silent", "--no-audit", "--no-fund", "--ignore-scripts", f"--prefix={prefix}")
            subprocess.run(("npm", "install", *options, f"agentv@{VERSION}"), check=True)
            prefix.rename(folder)
    return folder / "node_modules" / ".bin" / "agentv"


def their_grades(root: Path) -> Grades:
    suites = sorted(path.name for path in root.glob("*.eval.yaml"))
    options = ("--max-retries", "0", "--workers", "2", "--output", "results")
    ran((new_node(), str(agentv()), "eval", "run", *suites, *options), root)
    return grades(root / "results" / "index.jsonl")


def our_grades(root: Path, *options: str) -> Grades:
    program = Path(sys.executable).with_name("skillgym-action")
    ran((str(program), "run", ".", "--quiet", "--output", "results", "--report", "agentv=index.jsonl", *options), root)
    return grades(root / "index.jsonl")


def ran(arguments: tuple[str, ...], root: Path) -> None:
    """Both programs exit 1 here, for there are tests that fail."""
    # Graders in TypeScript need a Node that runs them.
    path = os.pathsep.join((str(Path(new_node()).parent), os.environ["PATH"]))
    environment = os.environ | {"AGENTV_HOME": str(root / "home"), "PATH": path}
    done = subprocess.run(
        arguments,
        cwd=root,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=1200,
        check=False,
    )
    if done.returncode not in (0, 1):
        sys.exit(f"{' '.join(arguments)}\nexited {done.returncode}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")


def grades(index: Path) -> Grades:
    rows = [json.loads(line) for line in index.read_text(encoding="utf-8").splitlines()]
    return {Test(row["suite"], row["test_id"]): Grade(round(row["score"], 4), row["execution_status"]) for row in rows}


def fresh(folder: Path) -> Path:
    """A repository with the suites."""
    shutil.copytree(SUITES, folder)
    write_tables(folder)
    subprocess.run(("git", "init", "--quiet", str(folder)), check=True)
    return folder


# --- the comparison ---------------------------------------------------------------------------------


def differences(theirs: Grades, ours: Grades, *, compat: bool) -> list[Difference]:
    found = []
    for test in sorted(theirs.keys() | ours.keys()):
        pair = (str(theirs.get(test, ABSENT)), str(ours.get(test, ABSENT)))
        purpose = PURPOSES.get(test)
        expected = purpose and (purpose.theirs, purpose.ours) == pair and (purpose.compat or not compat)
        if pair[0] != pair[1]:
            found.append(Difference(test, *pair, purpose if expected else None))
    return found


def outdated(found: list[Difference], *, compat: bool) -> list[Test]:
    """Tests that differ no more, although it is said here."""
    differing = {difference.test for difference in found}
    return [test for test, purpose in PURPOSES.items() if test not in differing and (purpose.compat or not compat)]


def shown(title: str, theirs: Grades, ours: Grades, *, compat: bool) -> bool:
    """Prints the comparison; whether all is as it should be."""
    found = differences(theirs, ours, compat=compat)
    surprises = [difference for difference in found if difference.purpose is None]
    gone = outdated(found, compat=compat)
    both = len(theirs.keys() | ours.keys())
    print(f"\n{title}\n  {'suite':12} {'tests':>5} {'same':>5} {'on purpose':>10} {'not':>5}")
    tests = Counter(test.suite for test in theirs.keys() | ours.keys())
    differ = Counter(difference.test.suite for difference in found)
    wrong = Counter(difference.test.suite for difference in surprises)
    for suite, count in sorted(tests.items()):
        meant = differ[suite] - wrong[suite]
        print(f"  {suite:12} {count:5} {count - differ[suite]:5} {meant:10} {wrong[suite]:5}")
    print(f"  {'all':12} {both:5} {both - len(found):5} {len(found) - len(surprises):10} {len(surprises):5}")
    if found:
        print(f"\n  {'test':32} {'AgentV':22} {'ours':22} why")
    for difference in found:
        print(difference)
    for test in gone:
        print(f"  {test!s:32} does not differ any more; take it out of {Path(__file__).name}")
    return not surprises and not gone


def main() -> None:
    with TemporaryDirectory() as scratch:
        theirs = their_grades(fresh(Path(scratch, "theirs")))
        ours = our_grades(fresh(Path(scratch, "ours")))
        compat = our_grades(fresh(Path(scratch, "compat")), "--agentv-compat")
    if len(theirs.keys() & ours.keys()) < FEWEST:
        sys.exit(f"only {len(theirs.keys() & ours.keys())} tests were run by both, {FEWEST} are needed")
    print(f"AgentV {VERSION}: score (4 digits) and verdict of every test")
    fine = [
        shown("beside ours", theirs, ours, compat=False),
        shown("beside ours with --agentv-compat", theirs, compat, compat=True),
    ]
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()
