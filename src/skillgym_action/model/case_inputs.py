"""Digests of what an execution is given, by which stored results of other runs are found and compared."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class CaseInputs:
    """Digests, the first 16 hexadecimal digits of a SHA-256 each.

    ``prompt``: the prompt and the further turns of a conversation. ``assertions``: the assertions with all of their
    settings, and what decides over them, such as the threshold. ``program``: the suite's file where it is a program,
    whose checks no other digest covers; else None. ``workspace``: what workspaces are made of, input files included,
    but neither the template, which has a digest of its own, nor the files of the repository. ``whole``: everything that
    the sessions and their judgement depend on, as far as it is known before they start; None: not all of it is known.
    """

    prompt: str
    assertions: str
    workspace: str
    program: str | None = None
    whole: str | None = None

    def is_same_case(self, other: CaseInputs) -> bool:
        """Whether both are the same question: what was said to the agent, and what it is judged by."""
        return (self.prompt, self.assertions) == (other.prompt, other.assertions)
