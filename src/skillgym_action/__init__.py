"""Benchmarks for coding agents in pull requests.

Suite programs import from here: ``from skillgym_action import Case, Suite, Workspace, command_matcher, expect``.
"""

from skillgym_action.model.version import __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.suites.programs.runtime.command_lines import command_matcher
    from skillgym_action.suites.programs.runtime.expectations import expect
    from skillgym_action.suites.programs.runtime.suite import Case, Context, Suite, Workspace

__all__ = ["Case", "Context", "SessionReport", "Suite", "Workspace", "__version__", "command_matcher", "expect"]

_RUNTIME = "suites.programs.runtime"
_ELSEWHERE = {"command_matcher": f"{_RUNTIME}.command_lines", "SessionReport": "model.session_report"}


def __getattr__(name: str) -> object:
    """What suites need is imported when it is asked for: the tool itself needs none of it."""
    if name not in __all__:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_ELSEWHERE.get(name, f'{_RUNTIME}.suite')}"), name)
