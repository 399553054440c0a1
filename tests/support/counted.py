"""Runs the tool's command line in this process and prints, as JSON on the last line of stderr, what it did how often.

``python counted.py ARGUMENT...``. Python's profiler counts functions, in all threads. Nothing that is counted
happens while the tool waits for a program, so two equal runs have the same counts.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from collections import Counter
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import FrameType

FUNCTIONS = {
    ("skillgym_action/model/records.py", "make"): "records",
    ("skillgym_action/model/records.py", "_constructor"): "constructors",
    ("skillgym_action/text/redaction.py", "text"): "redactions",
    ("pydantic/_internal/_model_construction.py", "__new__"): "pydantic classes",
    ("pydantic/plugin/_schema_validator.py", "create_schema_validator"): "validators",
    ("re/_compiler.py", "compile"): "patterns",
    ("/dataclasses.py", "_process_class"): "dataclasses",
}
NAMES = {name for _, name in FUNCTIONS}
STATS = {"stat", "lstat", "fstat"}


def main() -> None:
    """Run the command line."""
    counts = Counter[str]()

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" and (name := frame.f_code.co_name) in NAMES:
            file = frame.f_code.co_filename
            counts.update(kind for (end, of), kind in FUNCTIONS.items() if of == name and file.endswith(end))
        elif event == "c_call" and arg.__name__ in STATS:
            counts["stats"] += 1

    def audit(event: str, _arguments: tuple[object, ...]) -> None:
        counts["opens"] += event == "open"

    threading.setprofile(profile)
    sys.setprofile(profile)
    from skillgym_action.cli.arguments import cli

    sys.addaudithook(audit)
    try:
        cli(sys.argv[1:], standalone_mode=False, obj=dict(os.environ))
    finally:
        sys.setprofile(None)
        counts["own modules"] = sum(name.split(".")[0] == "skillgym_action" for name in sys.modules)
        print(json.dumps(counts), file=sys.stderr)


if __name__ == "__main__":
    main()
