"""Findings of keys name the file in which they are."""

from __future__ import annotations

import pytest

from skillgym_action.model.session_report import AgentRef, RunnerRef, SessionReport
from skillgym_action.results.run_directory import RunDirectory
from skillgym_action.sessions.secret_scan import SecretScan
from skillgym_action.text.redaction import Redactor

KEY = "s3cret/value+1"


@pytest.mark.parametrize("name", ["report.json", "partial-report.json"])
def test_a_key_that_only_the_report_has_is_found_in_the_file_with_the_report(tmp_path, name):
    runner = RunnerRef(id="r", path_key="r", agent=AgentRef(type="command"))
    with RunDirectory(tmp_path / "run", Redactor([KEY])) as directory:
        scan = SecretScan(directory, directory.folder("core/one/r/repeat-1"), "p")
        (scan.folder / "stdout.log").write_text("nothing")
        clean = scan.scan_report(SessionReport(runner=runner, prompt="p", cwd="/w", final_output=f"It is {KEY}."))
        scan.write_scanned("workspace.json", f"{KEY}, as before")
        scan.report_stored(name)
    assert clean.final_output == "It is ***."
    assert [(found.kind, found.where) for found in scan.findings] == [("secret", name)]
