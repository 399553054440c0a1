#!/bin/bash
cd /app || exit 1
if git merge-base --is-ancestor feature main; then
  echo 1 > /logs/verifier/reward.txt
else
  echo 0 > /logs/verifier/reward.txt
fi
