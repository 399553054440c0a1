#!/bin/bash
found=$(ls /app/[a-d].txt | wc -l)
python3 -c "import json; print(json.dumps({'reward': $found / 4, 'files': $found}))" > /logs/verifier/reward.json
