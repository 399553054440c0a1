"""Records an agent's captures: the real CLI, a scripted model. ``python tools/record_captures.py AGENT``.

It writes tests/captures/AGENT/SCENARIO, for those scenarios that are named, or all of them. The CLI needs a row in
``MODELS`` and ``SERVICES`` of agent_desk.py, which lead it to the model. Read what was recorded: paths and the key of
the session are replaced; other ids, names and long texts of the CLI are not. Then ``captured.py`` writes the reports.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import modules_of_tests
from agent_desk import KEY, Desk
from model_script import Fail, Say, Shell, Skill, Step, Together
from model_server import ModelServer
from paths import CAPTURES

DONE = Say("skillgym ready")


def spoken(call: Shell | Skill) -> Together:
    """A call with words before it, as models make it."""
    return Together((Say("Working on it."), call))


# The folder of a capture -> what the scripted model says in it.
PLAYED: dict[str, tuple[Step, ...]] = {
    "shell": (spoken(Shell("echo hello > out.txt && cat out.txt")), DONE),
    "fail": (spoken(Shell("ls /no/such/dir; exit 3")), DONE),
    "skill": (spoken(Skill("greeter")), spoken(Shell("echo greeted > greeted.txt")), DONE),
    "err401": (Fail(401),),
}


def record(agent: str, scenario: str, models: ModelServer, folder: Path) -> None:
    desk = Desk(agent, folder, models)
    capture = desk.capture(desk.adapter.invocation(desk.session(models.script(*PLAYED[scenario]))))
    stand_ins = {str(desk.workspace): "/workspace", str(desk.home): "/agent-home", str(folder): "/session", KEY: "KEY"}
    found = {
        "stdout.jsonl": capture.stdout.lines(),
        "stderr.txt": capture.stderr.lines(),
        "session.jsonl": (line for file in capture.collected for line in file.lines()),
    }
    target = CAPTURES / agent / scenario
    target.mkdir(parents=True, exist_ok=True)
    (target / "exit.json").write_text(json.dumps({"exit": capture.exit_code}) + "\n")
    for name, lines in found.items():
        text = "".join(f"{line.rstrip()}\n" for line in lines)
        for real, stand_in in stand_ins.items():
            text = text.replace(real, stand_in)
        if text:
            (target / name).write_text(text)


if __name__ == "__main__":
    agent, *named = sys.argv[1:]
    with ModelServer() as server:
        for scenario in named or PLAYED:
            with TemporaryDirectory() as place:
                record(agent, scenario, server, Path(place).resolve())
