"""A grader: the workspace is named by the environment, the answer is JSON."""

import json
import os
import sys

sys.path.insert(0, os.environ["AGENTV_WORKSPACE_PATH"])
sys.dont_write_bytecode = True

try:
    from parser import items

    checks = [
        {"text": "nothing has no items", "passed": items(None) == []},
        {"text": "lists are still lists", "passed": items("a,b") == ["a", "b"]},
    ]
except Exception as error:
    checks = [{"text": f"parser.py works: {error}", "passed": False}]
print(json.dumps({"assertions": checks}))
