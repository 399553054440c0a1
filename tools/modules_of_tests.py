"""Makes the modules in ``tests/support`` importable for the programs of this folder, which import this one first."""

import os
import sys
from pathlib import Path

sys.path.append(os.fspath(Path(__file__).resolve().parents[1] / "tests" / "support"))
