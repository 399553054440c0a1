"""Applies a reference solution; run as a program: ``reference_player.py FOLDER NAME WORKSPACE``.

Prints ``FOLDER/NAME.md``, the final answer, if there is one. Then copies the files of ``FOLDER/NAME/`` over the
workspace, or has ``git apply`` apply ``FOLDER/NAME.patch``. Links are not followed, neither in the solution nor in the
workspace, and nothing outside of the workspace is written.
Standard library only. Exit code 65: the solution cannot be applied; else that of git.
"""

# pathlib would add to the time this takes to start.
# ruff: noqa: PTH112, PTH114, PTH118, PTH119

from __future__ import annotations

import os
import shutil
import stat
import sys

UNUSABLE = 65
# Not in limits.py: this program runs without the package.
MAX_FILES, MAX_BYTES, MAX_ANSWER_BYTES = 10_000, 256 * 1024 * 1024, 4 * 1024 * 1024
READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
FOLDER = os.O_RDONLY | os.O_NOFOLLOW | os.O_DIRECTORY | os.O_CLOEXEC


def main(argv: list[str]) -> int:
    """The exit code; with a patch this process becomes git."""
    folder, name, workspace = argv
    solution = os.path.join(folder, name)
    try:
        if os.path.lexists(f"{solution}.md"):
            sys.stdout.write(answer(f"{solution}.md"))
            sys.stdout.flush()
        if os.path.lexists(solution):
            copy_folder(solution, workspace)
        elif os.path.lexists(f"{solution}.patch"):
            apply_patch(f"{solution}.patch", workspace)
    except (OSError, ValueError) as error:
        sys.stderr.write(f"{error}\n")
        return UNUSABLE
    return 0


def answer(path: str) -> str:
    """The text of the final answer. Raises OSError, ValueError."""
    with os.fdopen(regular(path), "rb") as file:
        return file.read(MAX_ANSWER_BYTES).decode("utf-8", "replace").rstrip("\n")


def apply_patch(path: str, workspace: str) -> None:
    """Become ``git apply`` in the workspace, with the patch on stdin.

    Git looks for no repository: with one, it would apply nothing to paths that it does not consider part of it. It
    refuses paths that lead out of the directory, through symbolic links or into ``.git``.
    """
    descriptor = regular(path)
    os.dup2(descriptor, 0)
    os.chdir(workspace)
    environment = os.environ  # noqa: TID251 - a program of its own, which has no secrets
    kept = {name: value for name, value in environment.items() if not name.startswith("GIT_")}
    alone = {"GIT_DIR": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    os.execvpe("git", ["git", "apply", "--whitespace=nowarn", "-"], kept | alone)  # noqa: S606, S607 - no shell


def copy_folder(source: str, workspace: str) -> None:
    """Copy all files, with their permissions, replacing what is there. Raises OSError, ValueError."""
    os.close(os.open(source, FOLDER))  # fails for a link, or a file
    root = os.open(os.path.realpath(workspace), FOLDER)
    files = size = 0
    for folder, names, others in os.walk(source):
        for name in sorted([*names, *others]):
            path = os.path.join(folder, name)
            relative = os.path.relpath(path, source)
            if os.path.islink(path):
                raise ValueError(f"{relative} is a symbolic link")
            if ".git" in relative.lower().split("/"):
                raise ValueError(f"{relative} is in a .git")
            if os.path.isdir(path):
                continue
            files, size = files + 1, size + os.lstat(path).st_size
            if files > MAX_FILES or size > MAX_BYTES:
                raise ValueError("the solution has too many files, or too large ones")
            copy(path, relative, root)


def copy(path: str, relative: str, root: int) -> None:
    """One regular file, to ``relative`` below the folder ``root``. Folders on the way are opened one by one."""
    source = regular(path)
    *above, name = relative.split("/")
    folder = os.dup(root)
    for part in above:
        if not exists(part, folder):
            os.mkdir(part, dir_fd=folder)
        inner = os.open(part, FOLDER, dir_fd=folder)
        os.close(folder)
        folder = inner
    if exists(name, folder):
        os.unlink(name, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    target = os.open(name, flags, os.fstat(source).st_mode & 0o777 | 0o600, dir_fd=folder)
    with os.fdopen(source, "rb") as read, os.fdopen(target, "wb") as written:
        shutil.copyfileobj(read, written)
    os.close(folder)


def exists(name: str, folder: int) -> bool:
    """Whether there is an entry of that name, also a dangling link."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def regular(path: str) -> int:
    """A descriptor for reading a regular file that is no link. Raises OSError, ValueError."""
    descriptor = os.open(path, READ)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise ValueError(f"{os.path.basename(path)} is not a regular file")
    return descriptor


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
