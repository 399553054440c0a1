#!/bin/sh
# Speaks like an agent: plays the session whose name is the prompt, which comes on stdin or as the last argument.
said=$(cat)
for last; do :; done
name=${said:-$last}
sessions=$(dirname "$0")/sessions
test ! -f "$sessions/$name.jsonl" || cat "$sessions/$name.jsonl"
case $name in
  hangs) exec sleep 60 ;;
  crashes) echo "out of luck" >&2; exit 3 ;;
  is-killed) kill -9 $$ ;;
  is-rejected) exit 1 ;;
esac
