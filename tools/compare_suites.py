"""Suites for ``make compare-agentv`` that are tables: each kind of assertion with each answer.

``compare_agentv.py`` writes them beside those of data/compare-agentv. The target ``echo`` answers with the input.
"""

from __future__ import annotations

import json
import shutil
from itertools import product
from typing import TYPE_CHECKING, Any

from compare_executions import write_execution_suites
from npm_packages import node_modules
from paths import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Row = dict[str, Any]
ZOD = "3.25.76"
REPLAYED = "agentv.replay_fixture.v1"


def write_tables(root: Path) -> None:
    """The suites, the recorded replies of the conversations, and the graders that validate their payload."""
    suites = {
        "text-table": ("echo", text_rows()),
        "calls-table": ("echo", call_rows()),
        "metric-table": ("echo", metric_rows()),
        "score-table": ("echo", score_rows()),
        "payload-table": ("echo", payload_rows()),
    }
    conversations = tuple(conversation_rows())
    suites["talk-table"] = ("talk-table", iter(test for test, _ in conversations))
    for name, (target, rows) in suites.items():
        text = json.dumps({"name": name, "execution": {"target": target}, "tests": list(rows)}, indent=1)
        (root / f"{name}.eval.yaml").write_text(text, encoding="utf-8")
    lines = [json.dumps(line) for _, recorded in conversations for line in recorded]
    (root / "talk-table.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    target = "  - {name: talk-table, provider: replay, fixtures: talk-table.jsonl, source_target: live}\n"
    with (root / "targets.yaml").open("a", encoding="utf-8") as targets:
        targets.write(target)
    write_execution_suites(root)
    shutil.copytree(DATA / "agentv-payload", root / "payload")
    (root / "payload/node_modules").symlink_to(node_modules(f"zod-{ZOD}", f"zod@{ZOD}"))


# --- text -------------------------------------------------------------------------------------------

ANSWERS = {"plain": "Hello World", "spaces": "  Hello\tWorld\n", "umlaut": "GRÜẞE an Ärzte", "json": '{"a": [1, 2]}'}
VALUES = {"word": "Hello", "lower": "hello", "umlaut": "grüße", "brace": "{", "whole": "Hello World"}


def text_rows() -> Iterator[Row]:
    for (name, answer), (what, value) in product(ANSWERS.items(), VALUES.items()):
        for kind in ("contains", "icontains", "starts-with", "ends-with", "equals"):
            yield row(f"{kind}-{what}-{name}", answer, {"type": kind, "value": value})
        for kind in ("contains-any", "icontains-all"):
            yield row(f"{kind}-{what}-{name}", answer, {"type": kind, "value": [value, "o"]})


# --- tool calls -------------------------------------------------------------------------------------

CALLS = [
    {"tool": "Read", "input": {"path": "a.txt"}, "duration_ms": 10},
    {"tool": "Bash", "input": {"command": "ls"}, "status": "error", "output": "no"},
    {"tool": "Read", "input": {"path": "b.txt", "deep": {"n": 1}}},
]
EXPECTED: dict[str, list[Row]] = {
    "one": [{"tool": "Read"}],
    "both": [{"tool": "Read"}, {"tool": "Bash"}],
    "reverse": [{"tool": "Bash"}, {"tool": "Read"}],
    "args": [{"tool": "Read", "args": {"path": "a.txt"}}, {"tool": "Read", "args": {"path": "b.txt"}}],
    "superset": [{"tool": "Read", "args": {"path": "b.txt"}, "args_match": "superset"}],
    "slow": [{"tool": "Read", "max_duration_ms": 9}, {"tool": "Bash"}],
    "other": [{"tool": "Write"}],
}


def call_rows() -> Iterator[Row]:
    answer = {"output": [{"role": "assistant", "content": "done", "tool_calls": CALLS}]}
    for mode, (name, expected) in product(("in_order", "exact", "subset", "superset"), EXPECTED.items()):
        yield row(f"{mode}-{name}", answer, {"type": "tool-trajectory", "mode": mode, "expected": expected})
    for tool, count in product(("Read", "Bash", "Write"), (0, 1, 2, 3)):
        yield row(
            f"any-{tool}-{count}", answer, {"type": "tool-trajectory", "mode": "any_order", "minimums": {tool: count}}
        )


# --- figures ----------------------------------------------------------------------------------------

METRICS = {
    "max_tool_calls": (2, 3),
    "max_tokens": (119, 120),
    "max_cost_usd": (0.2, 0.25),
    "max_duration_ms": (9, 1500),
}


def metric_rows() -> Iterator[Row]:
    spent = {"token_usage": {"input": 100, "output": 20, "cached": 30}, "cost_usd": 0.25, "duration_ms": 1500}
    answer = {"output": [{"role": "assistant", "content": "done", "tool_calls": CALLS}]} | spent
    for limits in product((None, 0, 1), repeat=len(METRICS)):
        chosen = {name: METRICS[name][one] for name, one in zip(METRICS, limits, strict=True) if one is not None}
        if 1 < len(chosen) < len(METRICS):
            name = "-".join(f"{key.removeprefix('max_')}-{value}" for key, value in chosen.items())
            yield row(name.replace(".", "_"), answer, {"type": "execution-metrics"} | chosen)


# --- scores -----------------------------------------------------------------------------------------


def score_rows() -> Iterator[Row]:
    for first, second, required, threshold in product((0, 1, 2.5), (1, 3), (False, True), (None, 0.5, 0.75)):
        assertions = [
            {"type": "contains", "value": "yes", "weight": first},
            {"type": "contains", "value": "no", "weight": second, "required": required},
            {"type": "contains", "value": "other", "negate": True},
        ]
        execution = {} if threshold is None else {"execution": {"threshold": threshold}}
        name = f"weights-{first}-{second}-{required}-{threshold}".replace(".", "_")
        yield row(name, "yes", *assertions) | execution


# --- payloads ---------------------------------------------------------------------------------------


def payload_rows() -> Iterator[Row]:
    inputs: dict[str, Any] = {
        "text": "hi",
        "calls": {"output": [{"role": "assistant", "content": "done", "tool_calls": CALLS}], "cost_usd": 0.5},
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": ["a", "b"]}],
        "history": [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}],
        "tokens": {"text": "done", "token_usage": {"input": 1, "output": 2}},
    }
    graders = {"ts": ["node", "payload/grader.ts"], "py": ["python3", "payload/grader.py"]}
    for (name, content), (kind, command) in product(inputs.items(), graders.items()):
        yield row(f"{kind}-{name}", content, {"type": "code-grader", "command": command, "maxWords": 3}) | {
            "expected_output": [{"role": "assistant", "content": "done"}],
            "metadata": {"dueDate": "now"},
        }


# --- conversations ----------------------------------------------------------------------------------

PATTERNS = {"all": (1, 1, 1), "first": (1, 0, 0), "last": (0, 0, 1), "not-second": (1, 0, 1)}


def conversation_rows() -> Iterator[tuple[Row, list[Row]]]:
    """A test, and the lines of its recorded replies."""
    for aggregation, failure, (name, pattern) in product(
        ("mean", "min", "max"), ("continue", "stop"), PATTERNS.items()
    ):
        test_id = f"{aggregation}-{failure}-{name}"
        turns = [
            {"input": f"say {word}", "assertions": [{"type": "contains", "value": word if good else "nothing"}]}
            for word, good in zip(("one", "two", "six"), pattern, strict=True)
        ]
        test = {"id": test_id, "mode": "conversation", "input": "Hello", "turns": turns, "aggregation": aggregation}
        test |= {"on_turn_failure": failure, "assertions": [{"type": "contains", "value": "assistant: two"}]}
        recorded = [
            {
                "schema_version": REPLAYED,
                "suite": "talk-table",
                "test_id": f"{test_id}/turn-{number}",
                "source_target": "live",
                "attempt": 0,
                "output": [{"role": "assistant", "content": word}],
            }
            for number, word in enumerate(("one", "two", "six"), start=1)
        ]
        # After a turn that ends the conversation no reply is recorded: nobody may ask for it.
        asked = pattern.index(0) + 1 if failure == "stop" and 0 in pattern else len(recorded)
        yield test, recorded[:asked]


def row(test_id: str, content: object, *assertions: Row) -> Row:
    return {"id": test_id, "input": content, "assertions": list(assertions)}
