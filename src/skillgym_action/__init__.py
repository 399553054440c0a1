"""Benchmarks for coding agents in pull requests.

Suite programs import from here: ``from skillgym_action import Case, Suite, Workspace, command_matcher, expect``.
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from skillgym_action.hosts.command_lines import command_matcher
    from skillgym_action.hosts.suite import Case, Context, Suite, Workspace, expect
    from skillgym_action.session_report import SessionReport

__all__ = ["Case", "Context", "SessionReport", "Suite", "Workspace", "__version__", "command_matcher", "expect"]
__version__ = "0.1.0"

_ELSEWHERE = {"command_matcher": "hosts.command_lines", "SessionReport": "session_report"}


def __getattr__(name: str) -> object:
    """What suites need is imported when it is asked for: the tool itself needs none of it."""
    if name not in __all__:
        raise AttributeError(name)
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_ELSEWHERE.get(name, 'hosts.suite')}"), name)
