"""Benchmarks for coding agents in pull requests.

Suite programs import from here: ``from skillgym_action import Case, Suite, Workspace, expect``.
"""

from skillgym_action.hosts.suite import Case, Suite, Workspace, expect

__all__ = ["Case", "Suite", "Workspace", "__version__", "expect"]
__version__ = "0.1.0"
