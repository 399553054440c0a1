"""What can be known of the section ``report`` of a configuration that is wrong."""

from __future__ import annotations

import pytest

from scratch import environment, written
from skillgym_action.settings.context import current_context
from skillgym_action.settings.report_section import known_report_section
from skillgym_action.settings.settings import Settings

YAML, PROGRAM = "skillgym.config.yaml", "skillgym.config.mjs"


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        pytest.param({}, (None, None, True, True), id="no file"),
        pytest.param({YAML: "runners: 1\n"}, (None, None, True, True), id="no section"),
        pytest.param(
            {YAML: "report: {commentId: a, comment: off}\nx: 1\n"}, ("a", "off", True, True), id="wrong elsewhere"
        ),
        pytest.param({YAML: "report: {commentId: a, comment: x}\n"}, ("a", None, False, True), id="a wrong word in it"),
        pytest.param({YAML: "report: {commentId: 1}\n"}, (None, None, False, False), id="a wrong id"),
        pytest.param({YAML: "report: 1\n"}, (None, None, False, False), id="no mapping"),
        pytest.param({YAML: "x: [\n"}, (None, None, True, True), id="broken, without the section"),
        pytest.param({YAML: "report: [\n"}, (None, None, False, True), id="broken"),
        pytest.param({YAML: "report: {commentId: a}\nx: [\n"}, (None, None, False, False), id="broken, with an id"),
        pytest.param({PROGRAM: "export default {}"}, (None, None, True, True), id="a program"),
        pytest.param({PROGRAM: "report.commentId = f()"}, (None, None, False, False), id="a program with an id"),
        pytest.param({YAML: "", PROGRAM: ""}, (None, None, False, False), id="two files"),
    ],
)
def test_what_is_valid_or_not_mentioned_is_known(tmp_path, files, expected):
    context = current_context(written(tmp_path, files), environment())
    known = known_report_section(Settings(), context)
    section = known.section
    assert (section.comment_id, section.comment, known.complete, known.has_comment_id) == expected
