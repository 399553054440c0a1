# Plays a scripted session: agent.sh right|wrong CASE. In a workspace that is not prepared it crashes.
if [ "$2" = workspace-check ]; then
  test -f .app && test "$(cat bootstrapped)" = "--seed demo" || exit 9
fi
cat "$(dirname "$0")/sessions/$2-$1.jsonl" 2>/dev/null || echo '{"type": "session", "finalOutput": "done"}'
