"""A grader in Python that refuses a payload as AgentV's Python helper does: by the types of keys, and retired keys."""

import json
import sys

RETIRED = {"output_text", "output_messages", "answer", "input_text", "reference_answer", "expected_output_text"}
TYPES = {
    "criteria": str,
    "expected_output": list,
    "input": list,
    "input_files": list,
    "messages": list,
    "output": (str, type(None)),
    "output_path": (str, type(None)),
    "metadata": (dict, type(None)),
    "trace": (dict, type(None)),
    "trace_summary": (dict, type(None)),
    "token_usage": (dict, type(None)),
    "cost_usd": (int, float, type(None)),
    "duration_ms": (int, float, type(None)),
    "start_time": (str, type(None)),
    "end_time": (str, type(None)),
    "file_changes": (str, type(None)),
    "workspace_path": (str, type(None)),
    "config": (dict, type(None)),
}
ABSENT = {"messages"}
"""Keys that may be missing although no null is wanted."""


def problems(payload):
    yield from (f"Deprecated wire fields are not accepted: {name}" for name in sorted(RETIRED & payload.keys()))
    for name, types in TYPES.items():
        if not isinstance(payload.get(name), types) and not (name in ABSENT and name not in payload):
            yield f"{name} must not be {type(payload.get(name)).__name__}"


found = list(problems(json.load(sys.stdin)))
assertions = [{"text": f"Evaluation failed: {text}", "passed": False} for text in found]
print(json.dumps({"score": 0.0 if found else 1.0, "assertions": assertions or [{"text": "valid", "passed": True}]}))
sys.exit(1 if found else 0)
