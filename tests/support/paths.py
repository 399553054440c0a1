"""Where the files of the tests are."""

from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
TESTS = REPOSITORY / "tests"
CAPTURES, DATA, GOLDENS, SUPPORT = (TESTS / name for name in ("captures", "data", "goldens", "support"))
