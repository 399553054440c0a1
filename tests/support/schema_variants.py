"""Files with every key that their JSON Schemas have, and changed ones: loading and the schema have to agree on each."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from whole_suites import FILES, at, changed, keys_of, mappings_of, misspelled

if TYPE_CHECKING:
    from collections.abc import Iterator

_REST_OF_CONFIGURATION: dict[str, Any] = {
    "$schema": "https://example.com/config.json",
    "run": {
        "cwd": "x",
        "reporter": "json",
        "schedule": "isolated-by-runner",
        "maxParallel": 4,
        "require": "any",
        "confirm": "always",
        "onLimit": "errored",
        "repeatFailure": 1,
        "retryFailed": 2,
        "maxSteps": 50,
        "failOn": ["failed", "regression"],
        "baseline": "auto",
        "baselineOptional": True,
        "maxCost": 2.5,
        "allowPartial": True,
        "minPassRate": 0.8,
        "maxErrorRate": 0.1,
        "minUplift": 5,
        "limits": {"memory": 8192, "disk": "4GiB", "processes": 500, "fileSize": "1GiB"},
        "keep": "all",
        "publicVariables": ["MODEL"],
        "workspace": {
            "mode": "isolated",
            "templateDir": "template",
            "bootstrap": {"command": "x", "timeoutMs": "5m"},
            "build": {"context": "template", "dockerfile": "x.py"},
            "network": "none",
        },
    },
    "defaults": {"timeoutMs": "1m30s"},
    "report": {
        "comment": "update",
        "commentWhen": "changes",
        "commentId": "nightly",
        "reviewComments": True,
        "status": "on",
        "html": False,
        "templates": "template",
    },
    "snapshots": {"path": "x.json", "metric": "totalTokens", "tolerance": {"absolute": 5}},
    "prices": {"m": {"input": 1, "output": 2, "cached": 0.5}},
    "skills": {"path": "skills/pdf", "arms": "with,without"},
    "arms": {"a": {"home": "x", "decides": True, "skill": "base"}, "b": {"env": ["A"], "remove": ["*.md"]}},
    "store": "branch",
    "reuse": "unchanged,max-age=14d",
    "inputs": [{"files": ["package.json"], "suites": ["bench/*"]}],
    "limits": {"anthropic": {"sessions": 40}},
    "engine": {
        "type": "dask",
        "address": "tls://127.0.0.1:8786",
        "tls": {"ca": "ca.pem", "cert": "cert.pem", "key": "key.pem"},
        "slots": 16,
        "lostAfter": "30s",
        "lostRetries": 2,
        "wait": 300,
    },
    "runners": {
        "r": {"agent": {"type": "replay", "sessions": "x", "env": ["A"]}},
        "s": {"agent": {"type": "command", "command": "x"}},
        "t": {"agent": {"type": "codex", "version": "1.2.3"}},
    },
}
_DOCKERFILE = {"run": {"workspace": {"mode": "isolated", "dockerfile": "template/x.py", "limits": {"cpus": 1.5}}}}
_SHARED = {"run": {"workspace": {"mode": "shared", "cwd": "template"}}}
_REST_OF_X_BENCH: dict[str, Any] = {
    "workspace": {
        "bootstrap": "true",
        "limits": {"processes": 100, "disk": "4GiB", "fileSize": 8192},
        "build": {"context": "template", "dockerfile": "x.py"},
        "network": "open",
    },
    "arms": {
        "a": {"files": "template", "remove": ["x"], "env": {"A": "b", "B": None}, "decides": True},
        "b": {"home": "template", "commandArgs": ["-x"], "skill": "none"},
    },
    "cases": [
        {
            "id": "b",
            "prompt": "p",
            "expect": [
                "test:true passes",
                {"file": "x", "exists": True},
                {"diff": "src", "glob": True},
                {"no-file": "y"},
                {"test": "x", "fails": True},
            ],
        }
    ],
}
_DOCKERFILE_OF_SUITE = {
    "cases": [{"id": "c", "prompt": "p", "expect": ["diff:x"]}],
    "workspace": {"dockerfile": "template/x.py", "limits": {"cpus": 1}},
}
_ENTRY = {"case": "a*", "suite": "b", "runner": "c", "reason": "r", "owner": "o", "issue": "https://a.example/1"}
DIGEST = "0" * 64
_PLANNED = {"suite": "bench/a.json", "case": "a", "runner": "r", "arm": "with", "digest": DIGEST, "seconds": 1.5}
WHOLE: dict[str, list[dict[str, Any]]] = {
    "config": [FILES["configuration"].value, _REST_OF_CONFIGURATION, _DOCKERFILE, _SHARED],
    "x-bench": [FILES["x-bench"].value, _REST_OF_X_BENCH, _DOCKERFILE_OF_SUITE],
    "quarantine": [{"quarantine": [{**_ENTRY, "expires": "2026-12-15"}]}],
    "plan": [
        {
            "schema": 1,
            "version": "1.0.0",
            "commit": "0" * 40,
            "jobs": 4,
            "target": 900,
            "source": "store branch",
            "known": 1,
            "shards": [
                {"shard": "1/2", "seconds": 1.5, "costShare": 0.5, "executions": [_PLANNED]},
                {"shard": "2/2", "seconds": 0, "costShare": 0.5},
            ],
        }
    ],
}
"""Name of a schema -> valid files that together have all of its keys."""

_OTHERS = ("zzmarkzz", 7.25, True, None, ["zzmarkzz"], {"zzmarkzz": "zzmarkzz"}, -1, "", [], {}, 0)


def variants(value: Any) -> Iterator[tuple[tuple[Any, ...], str, Any]]:
    """A file with a key too many, spelt otherwise or left out, or with another value, at each place."""
    for path in mappings_of(value):
        for word in ("zzunknownzz", "x-zz", "$schema"):
            yield path, f"{word}", changed(value, (*path, word), "x")
    for path in keys_of(value):
        for other in _OTHERS:
            yield path, f"= {other!r}", changed(value, path, other)
        for other in _written_otherwise(at(value, path)):
            yield path, f"= {other!r}", changed(value, path, other)
        yield path, "left out", _renamed(value, path, None)
        for key in sorted(_spellings(path[-1])):
            yield path, f"as {key}", _renamed(value, path, key)


def _renamed(value: Any, path: tuple[Any, ...], key: str | None) -> Any:
    copied = json.loads(json.dumps(value))
    mapping = at(copied, path[:-1])
    member = mapping.pop(path[-1])
    if key is not None:
        mapping[key] = member
    return copied


def _spellings(key: str) -> set[str]:
    snake = re.sub(r"([A-Z])", r"_\1", key).lower()
    found = {snake, snake.replace("_", "-"), key.capitalize(), key.upper()}
    return (found | {misspelled(key)} if len(key) > 2 else found) - {key}


def _written_otherwise(value: object) -> list[object]:
    """The value in quotes, in a list, in other letters, with another size: what people write in its place."""
    if isinstance(value, bool):
        return ["true", "yes", 1, 0]
    if isinstance(value, int | float):
        return [str(value), f" {value} ", f"{value}.0", float(value), value + 0.5, "1e3", "1_000", 0.0, 2**40, "0"]
    if isinstance(value, str):
        return [5, [value], f"{value} ", f" {value}", value.upper(), "a,b", "a\0b", "x" * 5_000]
    if isinstance(value, list):
        return [[None], [1], [[]], [{}], [""], ",".join(map(str, value)), {"a": "b"}]
    return [[value], {"": ""}, {"a": None}, {"a": 1}]
