#!/bin/bash
if [ "$(cat /app/ready.txt)" = ready ] && [ "$(wc -l < /tmp/tries)" = 3 ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
