"""Commands around sessions, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, kw_only=True, slots=True)
class Hook:
    """A command. ``timeout`` is in seconds; ``cwd`` None: the workspace.

    ``{{workspace_path}}``, ``{{test_id}}``, ``{{eval_run_id}}``, ``{{case_input}}`` and ``{{case_metadata}}`` in its
    words stand for those of the session.
    """

    argv: tuple[str, ...]
    timeout: float
    cwd: Path | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Hooks:
    """``all``: once for a workspace; ``each``: for a session. Before the agent, and after the judgement."""

    before_all: tuple[Hook, ...] = ()
    before_each: tuple[Hook, ...] = ()
    after_each: tuple[Hook, ...] = ()
    after_all: tuple[Hook, ...] = ()

    def around(self, inner: Hooks) -> Hooks:
        """Both; what comes first of these before the agent comes last after it."""
        return Hooks(
            before_all=self.before_all + inner.before_all,
            before_each=self.before_each + inner.before_each,
            after_each=inner.after_each + self.after_each,
            after_all=inner.after_all + self.after_all,
        )


NO_HOOKS = Hooks()
