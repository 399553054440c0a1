"""What holds for all tests."""

from hypothesis import HealthCheck, settings

from proofs import proved, pytest_terminal_summary

__all__ = ["proved", "pytest_terminal_summary"]

# How fast this machine is at the moment is not what a property test is about.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
