"""Benchmarks for coding agents in pull requests.

Suite programs import from here: ``from skillgym_action import Case, Suite, Workspace, command_matcher, expect``.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from skillgym_action.model.session_report import SessionReport
    from skillgym_action.suite_programs.command_lines import command_matcher
    from skillgym_action.suite_programs.suite import Case, Context, Suite, Workspace, expect

__all__ = ["Case", "Context", "SessionReport", "Suite", "Workspace", "__version__", "command_matcher", "expect"]
__version__ = "1.0.0"

_ELSEWHERE = {"command_matcher": "suite_programs.command_lines", "SessionReport": "model.session_report"}


def __getattr__(name: str) -> object:
    """What suites need is imported when it is asked for: the tool itself needs none of it."""
    if name not in __all__:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_ELSEWHERE.get(name, 'suite_programs.suite')}"), name)
