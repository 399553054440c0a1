#!/bin/bash
if [ "$(id -u)" = 0 ] && [ "$(cat /app/whoami.txt)" = "$EXPECTED_OWNER" ] && [ "$(stat -c %U /app/whoami.txt)" = "$EXPECTED_OWNER" ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
