"""Cuts GitHub's description of its REST interface down to what the fake GitHub serves.

npm pack @octokit/openapi && tar xzf octokit-openapi-*.tgz
python tools/cut_openapi.py package/generated/api.github.com.json
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import modules_of_tests
from paths import DATA

CUT = DATA / "github-openapi.json"
OPERATIONS = {
    "actions/download-artifact",
    "actions/list-workflow-run-artifacts",
    "actions/list-workflow-runs",
    "issues/create-comment",
    "issues/delete-comment",
    "issues/get-comment",
    "issues/list-comments",
    "issues/update-comment",
    "pulls/create-review",
    "pulls/delete-review-comment",
    "pulls/get",
    "pulls/list",
    "pulls/list-files",
    "pulls/list-review-comments",
    "pulls/list-reviews",
    "pulls/update-review",
    "pulls/update-review-comment",
    "repos/create-commit-status",
    "repos/list-commit-statuses-for-ref",
    "repos/list-pull-requests-associated-with-commit",
}
PROSE = {"description", "example", "examples", "externalDocs", "summary", "tags", "title"}
VALUES = {"default", "enum", "required"}
NAMED = {"patternProperties", "properties"}


def cut(description: dict[str, Any], operations: set[str]) -> dict[str, Any]:
    """The description with these operations only and what they refer to; nothing in it is for reading."""
    paths = {
        path: {method: bare(operation) for method, operation in item.items() if operation["operationId"] in operations}
        for path, item in description["paths"].items()
    }
    paths = {path: item for path, item in paths.items() if item}
    missing = operations - {operation["operationId"] for item in paths.values() for operation in item.values()}
    if missing:
        raise SystemExit(f"the description has no {', '.join(sorted(missing))}")
    return {
        "openapi": description["openapi"],
        "info": {key: description["info"][key] for key in ("title", "version", "license")},
        "servers": description["servers"],
        "paths": paths,
        "components": reachable(paths, description["components"]),
    }


def reachable(paths: object, components: dict[str, Any]) -> dict[str, Any]:
    """The components that ``paths`` refer to, and those which these refer to in turn."""
    kept: dict[str, Any] = {}
    open_references = references(paths)
    while open_references:
        _, _, kind, name = open_references.pop().split("/", 3)
        if name not in kept.setdefault(kind, {}):
            kept[kind][name] = bare(components[kind][name])
            open_references += references(kept[kind][name])
    return {kind: dict(sorted(named.items())) for kind, named in sorted(kept.items())}


def references(node: object) -> list[str]:
    if isinstance(node, list):
        return [reference for part in node for reference in references(part)]
    if not isinstance(node, dict):
        return []
    own = [node["$ref"]] if isinstance(node.get("$ref"), str) else []
    return own + [reference for part in node.values() for reference in references(part)]


def bare(node: Any) -> Any:
    """The node without prose, examples and extensions. A response keeps its description: it must have one."""
    if isinstance(node, list):
        return [bare(part) for part in node]
    if not isinstance(node, dict):
        return node
    kept = {key: _bare_part(key, part) for key, part in node.items() if not key.startswith("x-") and key not in PROSE}
    is_response = not kept or "content" in kept or "headers" in kept
    return {"description": "", **kept} if is_response and "description" in node else kept


def _bare_part(key: str, part: Any) -> Any:
    """What stands under ``key``; a map of names keeps all of them, also those that sound like prose."""
    if key in VALUES:
        return part
    return {name: bare(named) for name, named in part.items()} if key in NAMED else bare(part)


if __name__ == "__main__":
    whole = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    CUT.write_text(json.dumps(cut(whole, OPERATIONS), separators=(",", ":")) + "\n", encoding="utf-8")
    print(f"{CUT.name}: {CUT.stat().st_size} bytes of @octokit/openapi {whole['info']['version']}")
