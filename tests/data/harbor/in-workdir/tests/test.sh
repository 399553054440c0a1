#!/bin/bash
if [ "$(cat /srv/data/greeting.txt)" = "$GREETING here" ] && [ "$PWD" = /srv/data ]; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
