"""Which attempt of which job a run is in, and the run directory that its attempts have in common."""

from __future__ import annotations

from dataclasses import replace

import pytest

from skillgym_action.model.errors import UsageError
from skillgym_action.model.report import JobAttempt
from skillgym_action.settings.attempt_options import attempt_options, directory_name
from skillgym_action.settings.context import Job, current_context
from skillgym_action.settings.settings import validated_settings

VARIABLES = {
    "GITHUB_ACTIONS": "true",
    "GITHUB_REPOSITORY": "octo/skills",
    "GITHUB_RUN_ID": "100",
    "GITHUB_RUN_ATTEMPT": "2",
    "GITHUB_JOB": "bench",
}


def options_in(folder, *, matrix: str = "", without: str = "", **given: str):
    environment = {name: value for name, value in VARIABLES.items() if name != without}
    context = current_context(folder, environment, Job(matrix=matrix))
    return attempt_options(validated_settings(given, str), context)


def test_a_job_is_identified_by_repository_workflow_run_id_and_attempt(tmp_path):
    job = JobAttempt(repository="octo/skills", run_id=100, attempt=2, job="bench")
    assert options_in(tmp_path).job == job
    assert job.is_same_job(replace(job, attempt=1))
    assert not job.is_same_job(replace(job, run_id=101, attempt=1))


@pytest.mark.parametrize("without", sorted(VARIABLES.keys() - {"GITHUB_JOB"}))
def test_what_does_not_say_so_is_no_job_and_has_no_earlier_attempt(tmp_path, without):
    assert options_in(tmp_path, without=without).job is None
    with pytest.raises(UsageError, match="--resume auto outside of a job on GitHub"):
        options_in(tmp_path, without=without, resume="auto")


@pytest.mark.parametrize("matrix", ["", "null", "{}"])
def test_a_job_without_a_matrix_is_one_part(tmp_path, matrix):
    options = options_in(tmp_path, matrix=matrix)
    assert directory_name(options) == "run-100-bench"


def test_jobs_of_a_matrix_and_shards_are_told_apart(tmp_path):
    one = options_in(tmp_path, matrix='{"os": "a", "n": 1}')
    names = {
        directory_name(options)
        for options in (
            one,
            options_in(tmp_path, matrix='{"os": "b", "n": 1}'),
            options_in(tmp_path, shard="1/2"),
            options_in(tmp_path, shard="2/2"),
            options_in(tmp_path, matrix='{"os": "a", "n": 1}', shard="2/2"),
            options_in(tmp_path, matrix="no JSON"),
        )
    }
    assert len(names) == 6
    assert directory_name(options_in(tmp_path, matrix='{\n "n": 1,\n "os": "a"}')) == directory_name(one)


def test_a_folder_that_is_called_auto_can_be_named(tmp_path):
    assert not options_in(tmp_path, resume="./auto").auto
    assert options_in(tmp_path, resume="auto").auto
