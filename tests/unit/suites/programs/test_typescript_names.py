"""Scripts with names of other tools' suites."""

from __future__ import annotations

import pytest

from skillgym_action.suites import format_named


@pytest.mark.parametrize("path", ["evals/greeting.eval.ts", "evaluate.ts", "a.eval.js", "evalite.eval.ts"])
def test_scripts_of_other_tools_are_no_suites_of_skillgym(path):
    text = 'import { defineEval } from "@agentv/sdk"'
    assert not format_named("typescript").accepts(path, text)
    assert format_named("typescript").rejection(path, text) is None
