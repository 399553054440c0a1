test -f notes.md && test -f .hidden || exit 9
echo "$1 $SKILLGYM_CASE_ID $SKILLGYM_RUNNER_ID $OWN" > prepared.txt
test "$(cd "$SKILLGYM_WORKSPACE" && pwd -P)" = "$(pwd -P)" || exit 8
test -d "$SKILLGYM_ARTIFACT_DIR" && test -d "$SKILLGYM_OUTPUT_DIR"
