"""The tests of the task ``fix-tests``, run in its container."""

import sys

sys.path.insert(0, "/app")
from mean import mean

assert mean([1, 2, 3]) == 2
assert mean([]) == 0
