"""Every attack of the table, tried from inside the containers of sessions: none reaches what is not the container's."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING
from uuid import uuid4

import pytest

from attempts import CONTENT, ENVIRONMENT, IN_ACTION, OPERATORS, said
from positions import IN_CONTAINER, attempts_of, in_container, of_the_container
from scratch import repository, skillgym, written

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("user", ["0:0", "1000:1000"], ids=["root", "user"])
def test_nothing_is_reached_from_a_container_but_what_is_its_own(tmp_path: Path, user: str) -> None:
    mark, root, operator, closed = uuid4().hex, tmp_path / "checkout", tmp_path / "operator", tmp_path / "closed"
    written(operator, OPERATORS)
    written(closed, {"file.json": json.dumps({"name": CONTENT})})
    places: dict[str, str | Path] = {
        "checkout": root,
        "results": root / "results",
        "operator": operator,
        "package": tmp_path / "package",
        **IN_ACTION,
    }
    written(tmp_path / "other", {"workspace/file.txt": "another one's", "home/file.txt": "another one's"})
    places |= {"pid": str(os.getpid()), "others": tmp_path / "other" / "workspace"}
    tried = attempts_of("container")
    files = in_container(tried, mark, user, closed=closed, socket="/var/run/docker.sock", **places)
    repository(root, files, git=True)
    done = skillgym("run", "--output", "results", "--no-html", cwd=root, limit=300, HOME=str(operator), **ENVIRONMENT)
    assert done.code == 0, done.out + done.err
    found = said(mark, root / "results")
    assert sorted(found) == sorted(IN_CONTAINER)
    for position in IN_CONTAINER:
        assert sorted(found[position]["tried"]) == list(range(len(tried))), position
        reached = {tried[number].words for number in found[position].get("reached", ())}
        assert sorted(reached) == sorted(of_the_container(user)), position
