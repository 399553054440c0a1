from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from skillgym_action.model.errors import UsageError
from skillgym_action.system.processes.users import image_user, job_user


def someone() -> pwd.struct_passwd:
    """Who owns what a test makes; where that is root, another account, to which root can give files."""
    if os.geteuid() != 0:
        return pwd.getpwuid(os.geteuid())
    return next(user for user in pwd.getpwall() if user.pw_uid and user.pw_gid)


def test_without_a_name_it_is_the_images_user(tmp_path):
    assert job_user(None, tmp_path) == job_user("", tmp_path) == image_user()


def test_the_owner_of_the_workspace_is_refused(tmp_path):
    os.chown(tmp_path, someone().pw_uid, -1)
    with pytest.raises(UsageError, match="owns the workspace, and could read files that are closed to agents"):
        job_user(someone().pw_name, tmp_path)


@pytest.mark.parametrize("by", ["user", "group"])
def test_who_may_use_the_container_engine_is_refused(by, tmp_path):
    """The engine's socket is a file of that user or group; any file shows it."""
    socket, user = tmp_path / "docker.sock", someone()
    socket.touch()
    if os.geteuid() == 0:
        os.chown(socket, *((user.pw_uid, 0) if by == "user" else (0, user.pw_gid)))
    with pytest.raises(UsageError, match=f"{user.pw_name} may use the container engine"):
        job_user(user.pw_name, Path("/"), engine=socket)


def test_another_user_is_taken(tmp_path):
    socket, user = tmp_path / "docker.sock", someone()
    assert job_user(user.pw_name, Path("/"), engine=socket) == user.pw_name
    if os.geteuid() == 0:
        socket.touch()
        assert job_user(user.pw_name, tmp_path, engine=socket) == user.pw_name


@pytest.mark.parametrize("name", ["root", "nobody-like-that"])
def test_whoever_is_refused_everywhere_is_refused_later(name, tmp_path):
    assert job_user(name, tmp_path) == name
