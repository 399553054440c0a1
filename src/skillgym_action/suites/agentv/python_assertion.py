"""Evaluates an assertion of the type python. Stdin is the payload; its config says what to evaluate."""

import importlib.util
import json
import sys
import textwrap
from collections.abc import Callable


def from_file(path: str, name: str) -> Callable[[str, object], object]:
    """The function of a file."""
    spec = importlib.util.spec_from_file_location("assertion", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    function: Callable[[str, object], object] = getattr(module, name or "get_assert")
    return function


def from_code(code: str) -> Callable[[str, object], object]:
    """The function with this body; one line is what it returns."""
    body = code if "\n" in code.strip() else f"return {code.strip()}"
    scope: dict[str, Callable[[str, object], object]] = {}
    exec(  # noqa: S102 - the suite asks for it
        f"import json, re\n\ndef get_assert(output, context):\n{textwrap.indent(textwrap.dedent(body), '    ')}", scope
    )
    return scope["get_assert"]


def answer(result: object) -> object:
    """What the tool reads of what the function returned."""
    if isinstance(result, bool):
        return {"score": float(result), "assertions": [{"text": f"the expression is {result}", "passed": result}]}
    if isinstance(result, (int, float)):
        return {"score": result}
    return result


def main() -> None:
    """Print the answer."""
    payload = json.load(sys.stdin)
    wanted = json.loads(payload["config"]["evaluated"])
    context = {**payload, "vars": wanted["vars"], "config": wanted["config"]}
    function = from_file(wanted["file"], wanted["function"]) if wanted["file"] else from_code(wanted["code"])
    sys.stdout.write(json.dumps(answer(function(payload.get("output") or "", context))))


if __name__ == "__main__":
    main()
