"""Arms: which skills and which cases they have."""

from __future__ import annotations

from pathlib import Path

import pytest

from skillgym_action.judging.assertions.files import FileAbsent
from skillgym_action.model.arm import Arm, OverlayFile, SkillUnderTest
from skillgym_action.model.arm_cases import arms_of_case
from skillgym_action.model.errors import Location
from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, WorkspaceSpec

NOW, BEFORE = SkillUnderTest(name="b", folder=Path("/now/a")), SkillUnderTest(name="b", folder=Path("/base/a"))
WITH = Arm(name="with_skill", decides=True)
WITHOUT = Arm(name="without_skill", skill="none")
OLD = Arm(name="old_skill", skill="base", base_skills=((NOW.folder, BEFORE),))


def case(prompt: str) -> BenchmarkCase:
    return BenchmarkCase(id="x", prompt=prompt, location=Location(path="evals.json"), assertions=())


def suite() -> BenchmarkSuite:
    return BenchmarkSuite(
        path="evals.json",
        file=Path("/now/evals.json"),
        name="evals",
        format="skill-evals",
        workspace=WorkspaceSpec(source="empty", skills=(NOW,)),
        arms=(WITH, OLD, WITHOUT),
    )


def test_the_skills_of_an_arm():
    assert WITH.skills((NOW,)) == (NOW,)
    assert WITHOUT.skills((NOW,)) == ()
    assert OLD.skills((NOW,)) == (BEFORE,)
    assert OLD.skills((SkillUnderTest(name="new", folder=Path("/now/new")),)) == ()


@pytest.mark.parametrize(
    ("prompt", "names"),
    [
        ("do it", ["with_skill", "old_skill", "without_skill"]),
        ("/b now", ["with_skill", "old_skill"]),
        ("  /b", ["with_skill", "old_skill"]),
        ("/plugin:b now", ["with_skill", "old_skill"]),
        ("/bb now", ["with_skill", "old_skill", "without_skill"]),
        ("see /b now", ["with_skill", "old_skill", "without_skill"]),
        ("", ["with_skill", "old_skill", "without_skill"]),
    ],
)
def test_a_prompt_that_calls_the_skill_has_no_arm_without_it(prompt, names):
    assert [arm.name for arm in arms_of_case(suite(), case(prompt))] == names


def test_other_assertions_than_triggers_are_compared():
    other = BenchmarkCase(
        id="x", prompt="p", location=Location(path="evals.json"), assertions=(FileAbsent(name="no-file:a", path="a"),)
    )
    assert len(arms_of_case(suite(), other)) == 3


def test_the_identity_of_an_arm_has_content_and_no_values():
    one = Arm(name="a", files=(OverlayFile(path="x", content=b"1"),), env=(("KEY", "value-1"),))
    other = Arm(name="a", files=(OverlayFile(path="x", content=b"2"),), env=(("KEY", "value-2"),))
    assert one.identity() != other.identity()
    assert "value-1" not in repr((one, one.identity()))
