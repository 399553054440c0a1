"""Benchmarks for coding agents in pull requests.

Suite programs import from here: ``from skillgym_action import Case, Suite, Workspace, expect``.
"""

from skillgym_action.hosts.suite import Case, Context, Suite, Workspace, expect

TYPE_CHECKING = False
if TYPE_CHECKING:
    from skillgym_action.session_report import SessionReport

__all__ = ["Case", "Context", "SessionReport", "Suite", "Workspace", "__version__", "expect"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """``SessionReport`` is for annotations only, and its module takes longer to import than all the rest."""
    if name == "SessionReport":
        from skillgym_action.session_report import SessionReport

        return SessionReport
    raise AttributeError(name)
