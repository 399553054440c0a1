"""Scripts with names of other tools' suites."""

from __future__ import annotations

import pytest

from skillgym_action.formats import format_named


@pytest.mark.parametrize("path", ["evals/greeting.eval.ts", "a.eval.mts", "A.EVAL.TS"])
def test_a_suite_of_agentv_in_typescript_is_told_what_to_do(path):
    why = format_named("typescript").rejection(path, 'import { defineEval } from "@agentv/sdk"')
    assert why
    assert why.near_miss
    assert "a suite of AgentV in TypeScript" in why.reason
    assert "*.eval.yaml" in (why.remedy or "")


@pytest.mark.parametrize("path", ["evaluate.ts", "a.eval.js", "evalite.eval.ts"])
def test_other_scripts_are_not(path):
    assert format_named("typescript").rejection(path, "") is None
