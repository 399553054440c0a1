"""Keys as agents leave them behind: of every known shape and in all forms, wherever an agent can write; and the search.

Run as a program it is that agent: ``planted_keys.py KEYS.json [events|claude]``. It knows nothing of the tool.
"""

from __future__ import annotations

import base64
import json
import os
import random
import string
import subprocess
import sys
import zlib
from pathlib import Path
from urllib.parse import quote, quote_plus

UPPER = string.ascii_uppercase + string.digits
ANY = string.ascii_letters + string.digits
WINDOW = 16
"""Characters of a key that nobody has by chance: less of one than this is no leak."""
GIT = ("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "-c", "commit.gpgsign=false")


def made(number: int) -> dict[str, str]:
    """A key of every kind."""
    drawn = random.Random(number)

    def some(characters: str, length: int) -> str:
        return "".join(drawn.choices(characters, k=length))

    body = "\n".join(some(ANY + "+/", 64) for _ in range(12))
    return {
        "secret": f'k"{some(ANY, 10)}&/{some(ANY, 10)}+ü{some(ANY, 10)}',
        "github": f"ghp_{some(ANY, 36)}",
        "anthropic": f"sk-ant-api03-{some(ANY + '-_', 80)}",
        "openai": f"sk-proj-{some(ANY + '-_', 60)}",
        "aws": f"AKIA{some(UPPER, 16)}",
        "google": f"AIza{some(ANY + '-_', 35)}",
        "slack": f"xoxb-{some(string.digits, 12)}-{some(ANY, 24)}",
        "jwt": f"eyJ{some(ANY, 30)}.eyJ{some(ANY, 80)}.{some(ANY + '-_', 43)}",
        "private-key": f"-----BEGIN PRIVATE KEY-----\n{body}\n-----END PRIVATE KEY-----",
    }


def forms(value: str) -> list[str]:
    """How programs write a value that somebody gave them."""
    encoded = [base64.b64encode(b"x" * before + value.encode() + b"yy").decode() for before in range(3)]
    wrapped = ["\n".join(one[start : start + 76] for start in range(0, len(one), 76)) for one in encoded]
    quoted = [quote(value, safe=""), quote_plus(value), json.dumps(value)[1:-1], json.dumps(json.dumps(value))]
    return [value, *quoted, *encoded, *wrapped]


def text(keys: dict[str, str]) -> str:
    """All of it: the shapes as they are, what only its owner knows in every form."""
    return "\n".join([*keys.values(), *forms(keys["secret"])])


# --- the search -------------------------------------------------------------------------------------------------------


def needles(keys: dict[str, str]) -> dict[bytes, str]:
    """What must be nowhere, and the kind of key it is of."""
    found: dict[bytes, str] = {}
    for kind, key in keys.items():
        for line in key.splitlines():
            if not line.startswith("-----"):
                starts = range(len(line) - WINDOW + 1) if kind != "private-key" else range(0, len(line), WINDOW)
                found |= dict.fromkeys((line[start : start + WINDOW].encode() for start in starts), kind)
    secret = keys["secret"].encode()
    for before in range(3):
        encoded = base64.b64encode(b"\0" * before + secret).decode()
        stable = encoded[4 if before else 0 : (before + len(secret)) // 3 * 4]
        starts = range(len(stable) - WINDOW + 1)
        found |= dict.fromkeys((stable[start : start + WINDOW].encode() for start in starts), "secret")
    return found


def found_in(content: bytes, wanted: dict[bytes, str]) -> set[str]:
    """The kinds of keys in it."""
    return {kind for needle, kind in wanted.items() if needle in content}


def places_below(folder: Path) -> dict[str, bytes]:
    """Everything below a folder that somebody could read a key in: content, unpacked where git packs it, and names."""
    places = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        places[f"the name of {name}"] = os.fsencode(name)
        if path.is_symlink():
            places[f"the target of {name}"] = os.fsencode(path.readlink())
        elif path.is_file():
            places[name] = path.read_bytes()
            if "objects" in path.parts:
                places[f"{name}, unpacked"] = zlib.decompress(places[name])
    return places


# --- the agent --------------------------------------------------------------------------------------------------------


def in_two(stream: object, told: str) -> None:
    """Written and flushed in halves, each of which cuts a key."""
    middle = told.index("ghp_") + 9
    for part in (told[:middle], told[middle:]):
        stream.write(part)
        stream.flush()


def plant(keys: dict[str, str]) -> None:
    """In the workspace: files new and changed, among bytes that are no text, names, folders, links, and commits."""
    told, name = text(keys), keys["aws"]
    Path("leak.txt").write_text(told)
    Path("README.md").write_text("changed\n" + told)
    Path("large.log").write_bytes(b"x" * 50_000 + keys["github"].encode() + b" " + b"y" * 50_000)
    for place in (Path("sub/deep/.env"), Path(f"called-{name}.txt"), Path(f"folder-{keys['github']}/inside.txt")):
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(b"\xff\xfe\n" + told.encode() + b"\n\xff")
    Path(f"empty-{keys['slack']}").mkdir(exist_ok=True)
    for link, target in (("link", f"sub/{keys['google']}"), ("link-out", f"/nowhere/{keys['github']}")):
        Path(link).unlink(missing_ok=True)
        Path(link).symlink_to(target)
    for repository in (Path(), Path("sub/own")):
        repository.mkdir(exist_ok=True, parents=True)
        (repository / "committed.txt").write_text(told)
        for arguments in (("init", "--quiet"), ("add", "committed.txt"), ("commit", "--quiet", f"--message={told}")):
            subprocess.run([*GIT, *arguments], cwd=repository, check=False, capture_output=True)


def say_as_claude(keys: dict[str, str], told: str) -> None:
    """Claude Code's stream, and its own record of the session."""
    session = "0b5c1d9e-0000-4000-8000-000000000000"
    content = [
        {"type": "text", "text": told},
        {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": f"curl -u {keys['openai']} x"}},
    ]
    answer = [{"type": "tool_result", "tool_use_id": "c1", "content": told, "is_error": True}]
    lines = [
        {"type": "system", "subtype": "init", "session_id": session, "model": f"m-{keys['aws']}",
         "claude_code_version": keys["github"]},
        {"type": "assistant", "message": {"id": "m1", "model": f"m-{keys['aws']}", "content": content}},
        {"type": "user", "message": {"role": "user", "content": answer}},
        {"type": "result", "subtype": "success", "is_error": False, "result": told * 3, "session_id": session,
         "num_turns": 2, "total_cost_usd": 0.01},
    ]  # fmt: skip
    folder = Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", "here")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "0b5c.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    in_two(sys.stdout, "".join(json.dumps(line) + "\n" for line in lines))


def say_as_events(keys: dict[str, str], told: str) -> None:
    """A command agent's events; it ends in an error that quotes keys."""
    lines = [
        {"type": "message", "role": "assistant", "phase": "final", "text": told},
        {"type": "command", "command": f"curl -u {keys['openai']} x", "exitCode": 1},
        {"type": "fileWrite", "path": f"x/{keys['aws']}.txt"},
        {
            "type": "session",
            "sessionId": keys["github"],
            "model": keys["jwt"],
            "finalOutput": "x" * 3990 + told,
            "usage": {"inputTokens": 9, "outputTokens": 1},
        },
        told,
    ]
    in_two(sys.stdout, "".join((json.dumps(line) if isinstance(line, dict) else line) + "\n" for line in lines))


def main(file: str, kind: str = "text", *_: str) -> None:
    """Leave keys wherever possible."""
    keys = json.loads(Path(file).read_text()) | {"secret": os.environ["API_TOKEN"]}
    told = text(keys)
    in_two(sys.stderr, told)
    plant(keys)
    if kind == "claude":
        say_as_claude(keys, told)
    elif kind == "events":
        say_as_events(keys, told)
    else:
        in_two(sys.stdout, told)
        sys.exit(f"cannot go on with {told}")


if __name__ == "__main__":
    main(*sys.argv[1:])
