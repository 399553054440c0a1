"""Checks what a grader of a conversation is told: the messages until then, the reply last."""

import json
import sys

told = json.load(sys.stdin)
messages = told["input"]
whole = told["output"].startswith("system: ")
checks = {
    "the reply is the last message": whole or messages[-1] == {"role": "assistant", "content": told["output"]},
    "instructions come first": messages[0] == {"role": "system", "content": "Be brief."},
    "each turn has two messages": len(messages) % 2 == 1,
    "something that never holds": False,
}
print(json.dumps({"assertions": [{"text": text, "passed": passed} for text, passed in checks.items()]}))
