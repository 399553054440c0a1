"""Processes are ended, and others are not harmed that have their numbers by then."""

from __future__ import annotations

import signal
import subprocess

import wrapped_numbers
from skillgym_action.system.supervisor.descendants import descendants, signal_found
from table_rows import each_row_holds
from wrapped_numbers import CAN_WRAP, happens

SCENES = {
    wrapped_numbers.number_taken_after_a_scan: "True -9 lives",
    wrapped_numbers.number_of_a_parent_taken_during_a_scan: "lives lives",
    wrapped_numbers.number_of_a_group_taken: "-9 lives",
    wrapped_numbers.number_of_a_subreaper_taken: "None lives",
}


def signalled_if_wanted() -> None:
    wanted, other = (subprocess.Popen(["sleep", "1000"]) for _ in range(2))
    signal_found(signal.SIGKILL, descendants(), {wanted.pid})
    assert (wanted.wait(), other.poll()) == (-signal.SIGKILL, None)
    signal_found(signal.SIGKILL, descendants({other.pid}), {other.pid})
    assert other.poll() is None
    other.kill()
    other.wait()


def test_a_neighbour_with_the_number_of_an_ended_process_is_not_signalled():
    signalled_if_wanted()
    if not CAN_WRAP:  # not every system lets everybody have a namespace
        return

    def is_spared(row):
        scene, has_descriptors, expected = row
        assert happens(scene, with_descriptors=has_descriptors) == expected

    each_row_holds(
        (
            (f"{scene.__name__}, {'with' if has else 'without'} descriptors", (scene, has, expected))
            for scene, expected in SCENES.items()
            for has in (True, False)
        ),
        is_spared,
    )


if CAN_WRAP:

    def test_a_neighbour_that_began_at_the_same_time_is_told_apart_by_its_descriptor_and_by_its_parent():
        assert happens(wrapped_numbers.number_taken_at_once) == "lives lives"
