from __future__ import annotations

from skillgym_action.system.processes.browser import open_in_browser
from waiting import until_written


def test_the_browser_that_the_environment_names_is_started(tmp_path):
    program = tmp_path / "browser"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/opened\n')
    program.chmod(0o755)
    assert open_in_browser(
        tmp_path / "a b.html", {"BROWSER": f"gone-{tmp_path.name}:{program} --new '%s'", "PATH": "/bin"}
    )
    assert until_written(tmp_path / "opened") == f"--new {tmp_path}/a b.html\n"


def test_nothing_is_started_without_a_display(tmp_path):
    assert not open_in_browser(tmp_path / "a.html", {"PATH": "/bin"})
    assert not open_in_browser(tmp_path / "a.html", {"BROWSER": "false", "PATH": "/bin"})
    assert not open_in_browser(tmp_path / "a.html", {"BROWSER": "'", "PATH": "/bin"})
