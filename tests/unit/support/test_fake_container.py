"""The fake container does what the tests of Harbor tasks rely on."""

from __future__ import annotations

from fake_container import Done, FakeContainer
from skillgym_action.model.containers import ContainerCommand
from skillgym_action.suites.harbor.paths import REWARD_TEXT, as_shell, program

TESTS = ContainerCommand(argv=program("/tests/test.sh"))
REMOVE = ContainerCommand(argv=as_shell(f"rm {REWARD_TEXT}"))


def test_tests_write_files_and_scripts_remove_them():
    container = FakeContainer(tests={REWARD_TEXT: b"1"}, ended=Done(exit_code=3))
    assert container.run(TESTS).exit_code == 3
    assert (container.read(REWARD_TEXT, 1), container.read(REWARD_TEXT, 0)) == (b"1", None)
    assert container.run(REMOVE).exit_code == 0
    assert container.read(REWARD_TEXT, 1) is None
    assert container.steps == ["tests", "rm"]


def test_programs_of_the_image_may_remove_nothing_and_fail():
    container = FakeContainer(files={REWARD_TEXT: b"1"}, removes=False, tries=[4])
    assert [container.run(REMOVE).exit_code, container.run(REMOVE).exit_code] == [4, 0]
    assert container.read(REWARD_TEXT, 1) == b"1"
