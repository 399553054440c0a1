"""Calls a hook of an AgentV suite: argv is a module and the name of the hook; stdin its context."""

import importlib.util
import json
import re
import sys
from pathlib import Path


def main() -> None:
    """Call ``beforeAll``, or the same in ``snake_case``."""
    file, name = sys.argv[1:]
    context = {"hook_name": name, "eval_dir": str(Path.cwd()), **json.load(sys.stdin)}
    spec = importlib.util.spec_from_file_location("hooks", file)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{file} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    snake_case = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name)
    hook = getattr(module, name, None) or getattr(module, snake_case, None)
    if hook is None:
        raise SystemExit(f"{file} has no function {name} or {snake_case}")
    hook(context)


if __name__ == "__main__":
    main()
