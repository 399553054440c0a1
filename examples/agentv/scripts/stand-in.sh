#!/bin/sh
# stand-in.sh PROMPT_FILE OUTPUT_FILE: does what an agent would do, and tells it in AgentV's form.
set -eu
prompt=$(cat "$1")
skill=$(ls .agent/skills 2>/dev/null || true)
call=""

case $prompt in
*parser.py*)
  sed -i.bak 's/return text.split(",")/return text.split(",") if text else []/' parser.py && rm parser.py.bak
  call='{"tool": "Edit", "input": {"file_path": "parser.py"}, "output": "done", "duration_ms": 40}'
  answer="The root cause: split was called on None. parser.py returns an empty list now."
  ;;
*auth*)
  printf 'def allowed(user):\n    return user in {"alice", "bob"}\n' > auth.py
  call='{"tool": "Write", "input": {"file_path": "auth.py"}, "output": "done", "duration_ms": 30}'
  answer="auth.py has allowed(user)."
  ;;
*)
  answer="This is a larger change; here is a plan for it."
  ;;
esac

if [ -n "$skill" ]; then
  call="{\"tool\": \"Skill\", \"input\": {\"skill\": \"$skill\"}, \"output\": \"loaded\"}${call:+, $call}"
fi
cat > "$2" <<END
{
  "output": [{"role": "assistant", "content": "$answer", "tool_calls": [$call]}],
  "token_usage": {"input": 1200, "output": 80, "cached": 0},
  "cost_usd": 0.004,
  "duration_ms": 1500
}
END
