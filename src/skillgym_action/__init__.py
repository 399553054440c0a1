"""Benchmarks for coding agents in pull requests.

Suite programs import from here: ``from skillgym_action import Case, Suite, Workspace, command_matcher, expect``.
"""

from skillgym_action.hosts.suite import Case, Context, Suite, Workspace, expect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from skillgym_action.hosts.command_lines import command_matcher
    from skillgym_action.session_report import SessionReport

__all__ = ["Case", "Context", "SessionReport", "Suite", "Workspace", "__version__", "command_matcher", "expect"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """What few suites need is imported when it is asked for: it takes longer to import than all the rest."""
    if name == "command_matcher":
        from skillgym_action.hosts.command_lines import command_matcher

        return command_matcher
    if name == "SessionReport":
        from skillgym_action.session_report import SessionReport

        return SessionReport
    raise AttributeError(name)
