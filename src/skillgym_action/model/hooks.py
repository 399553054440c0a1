"""Hooks: commands that run before and after sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.records import record

if TYPE_CHECKING:
    from pathlib import Path


@record
class RepositoryFetch:
    """A command that fetches the repository at ``url`` and writes it, as a git bundle, to the file in ``REPO_BUNDLE``.

    The hook that clones it gets the path of the bundle in the same variable, if there is one.
    """

    url: str
    argv: tuple[str, ...]


REPO_BUNDLE = "SKILLGYM_REPO_BUNDLE"


@record
class Hook:
    """A command. ``timeout`` is in seconds; ``cwd`` None: the workspace.

    ``fetch``: of a command that clones a git repository of another machine, how it is fetched, once in a run.

    In ``argv`` these placeholders are replaced by the values of the session: ``{{workspace_path}}``, ``{{test_id}}``,
    ``{{eval_run_id}}``, ``{{case_input}}`` and ``{{case_metadata}}``.
    """

    argv: tuple[str, ...]
    timeout: float
    cwd: Path | None = None
    fetch: RepositoryFetch | None = None


@record
class Hooks:
    """Hooks of a suite or a runner: ``all`` run once per workspace, ``each`` once per session."""

    before_all: tuple[Hook, ...] = ()
    before_each: tuple[Hook, ...] = ()
    after_each: tuple[Hook, ...] = ()
    after_all: tuple[Hook, ...] = ()

    def enclosing(self, inner: Hooks) -> Hooks:
        """Both sets of hooks: these run first before the agent and last after it."""
        return Hooks(
            before_all=self.before_all + inner.before_all,
            before_each=self.before_each + inner.before_each,
            after_each=inner.after_each + self.after_each,
            after_all=inner.after_all + self.after_all,
        )


NO_HOOKS = Hooks()
