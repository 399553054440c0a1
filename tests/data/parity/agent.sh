#!/bin/sh
# Speaks like an agent: plays the session whose name is the prompt, which comes on stdin or as the last argument.
sessions=$(dirname "$0")/sessions
if [ "$1" = export ]; then exec cat "$sessions/$2.json"; fi
said=$(cat)
for last; do :; done
name=${said:-$last}
case $name in
  *-at-first)
    mkdir "$sessions/$name" 2>/dev/null && first=${name%-at-first}
    name=${first:-works} ;;
esac
if [ "$name" = leaves-a-trace ]; then echo here > trace.txt; name=works; fi
test ! -f "$sessions/$name.jsonl" || cat "$sessions/$name.jsonl"
case $name in
  hangs) exec sleep 60 ;;
  crashes) echo "out of luck" >&2; exit 3 ;;
  is-killed) kill -9 $$ ;;
  is-rejected) exit 1 ;;
  floods) # more than anybody can hold, and no word of which session it is
    yes '{"type":"text","part":{"text":"x"}}' | head -n 20100
    cat "$sessions/is-nobodys.jsonl" ;;
esac
