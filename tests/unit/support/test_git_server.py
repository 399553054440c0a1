"""The fake that serves git over HTTP: anybody reads, and only a token that may write pushes."""

from __future__ import annotations

import subprocess
from base64 import b64encode

import pytest

from git_server import GitServer
from scratch import git_in, repository


def pushed(root, url, token=""):
    given = b64encode(f"x-access-token:{token}".encode()).decode()
    header = ("-c", f"http.extraheader=Authorization: Basic {given}") if token else ()
    git_in(root, *header, "push", "--quiet", f"{url}/octo/skills.git", "main:other")


def test_who_reads_and_who_writes(tmp_path):
    root = repository(tmp_path / "work", git=True)
    (tmp_path / "remote/octo").mkdir(parents=True)
    git_in(tmp_path, "clone", "--quiet", "--bare", str(root), "remote/octo/skills.git")
    with GitServer(tmp_path / "remote", writers={"good"}) as server:
        git_in(tmp_path, "clone", "--quiet", f"{server.url}/octo/skills.git", "clone")
        for token in ("", "bad"):
            with pytest.raises(subprocess.CalledProcessError) as found:
                pushed(root, server.url, token)
            assert "403" in found.value.stderr
        pushed(root, server.url, "good")
    assert (tmp_path / "clone/bench/core.json").is_file()
    assert "other" in git_in(tmp_path / "remote/octo/skills.git", "branch", "--list", "other")
