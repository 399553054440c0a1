"""All files that ``init`` writes, and writing them: never over a file that is there, unless it is to be replaced."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from skillgym_action.authoring.starter.suites import SUITE_FORMATS, quoted, skill_cases, starter_cases
from skillgym_action.model.errors import OutputError, UsageError
from skillgym_action.model.records import record
from skillgym_action.system.files.checkout import folder_to_write_in
from skillgym_action.system.files.folder import Folder
from skillgym_action.text.documents.json_schemas import schema_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from skillgym_action.authoring.starter.facts import FoundSkill, RepositoryFacts, StarterAgents
    from skillgym_action.system.files.checkout import Checkout

CONFIGURATION = "skillgym.config.yaml"
WORKFLOW = ".github/workflows/skillgym.yml"
MODELS: Mapping[str, str] = {"claude-code": "claude-sonnet-4-6"}
"""Models to name in the configuration; other agents use the default of their CLI."""


@record
class StarterFile:
    """A file to write. ``path``: relative to the repository."""

    path: str
    text: str


@record
class StarterPlan:
    """The files to write, and the paths of those that are there and stay as they are."""

    written: tuple[StarterFile, ...]
    kept: tuple[str, ...]


def starter_files(
    facts: RepositoryFacts,
    *,
    suite_format: str,
    agents: StarterAgents,
    branch: str,
    configuration: str = CONFIGURATION,
) -> tuple[StarterFile, ...]:
    """Suite, configuration and workflow. Raises UsageError for ``skill-evals`` if no skill is without evals.

    ``suite_format``: a key of ``SUITE_FORMATS``. ``branch``: the default branch of the repository. ``configuration``:
    the name of the configuration file that the workflow uses.
    """
    return (
        _suite(facts, suite_format),
        StarterFile(path=CONFIGURATION, text=_configuration(agents.names)),
        StarterFile(path=WORKFLOW, text=_workflow(agents.secrets, branch, configuration)),
    )


def starter_plan(files: Iterable[StarterFile], root: Path, *, configuration: str | None, force: bool) -> StarterPlan:
    """What of ``files`` is written: what is missing; with ``force`` all of it. Raises UsageError if nothing is left.

    ``configuration``: the name of the configuration file in ``root`` that is kept, also with ``force``.
    """
    written, kept = [], []
    for file in files:
        if file.path == CONFIGURATION and configuration:
            kept.append(configuration)
        elif not force and _is_there(root / file.path):
            kept.append(file.path)
        else:
            written.append(file)
    if not written:
        remedy = "keep them, replace them with --force, or write a suite in another --format"
        raise UsageError(f"{', '.join(kept)}: exist already", remedy=remedy)
    return StarterPlan(written=tuple(written), kept=tuple(kept))


def _is_there(path: Path) -> bool:
    return path.is_symlink() or (path.exists() and not path.is_dir())


def write_files(files: Iterable[StarterFile], checkout: Checkout) -> None:
    """Write files into the checkout: all of them, or none if one cannot be written. Raises OutputError."""
    wanted = tuple(files)
    for file in wanted:
        if obstacle := _obstacle(checkout.root / file.path, checkout):
            remedy = "correct this and run init again; no file was written"
            raise OutputError(f"cannot write {file.path}: {obstacle}", remedy=remedy)
    for file in wanted:
        path = checkout.root / file.path
        try:
            with folder_to_write_in(path, checkout) as above:
                Folder(above).write(path.name, file.text.encode(), 0o644)
        except OSError as error:
            raise OutputError(f"cannot write {file.path}: {error.strerror or error}") from error


def _obstacle(path: Path, checkout: Checkout) -> str | None:
    """Why a file cannot be written there; nothing is made or changed to find out."""
    if refused := checkout.refusal(path):
        return refused
    if path.is_dir():
        return "it is a folder"
    above = next(folder for folder in path.parents if folder.exists())
    shown = above.relative_to(checkout.root).as_posix()
    if not above.is_dir():
        return f"{shown} is not a folder"
    return None if os.access(above, os.W_OK | os.X_OK) else f"no permission to write in {shown}"


def _suite(facts: RepositoryFacts, suite_format: str) -> StarterFile:
    chosen = SUITE_FORMATS[suite_format]
    if chosen.file is None:
        skill = skill_to_test(facts)
        return StarterFile(path=skill.evals, text=chosen.text(skill_cases(skill)))
    return StarterFile(path=chosen.file, text=chosen.text(starter_cases(facts)))


def skill_to_test(facts: RepositoryFacts) -> FoundSkill:
    """The first skill without evals. Raises UsageError if there is none."""
    if facts.skills_without_evals:
        return facts.skills_without_evals[0]
    if facts.skills:
        remedy = "add cases to them, run init in the folder of another skill, or choose another --format"
        raise UsageError("--format skill-evals: each skill in this folder has evals already", remedy=remedy)
    remedy = "add a folder with a SKILL.md, or choose another --format"
    raise UsageError("--format skill-evals: the repository has no skill, a folder with a SKILL.md", remedy=remedy)


def _configuration(agents: Iterable[str]) -> str:
    lines = [f"# yaml-language-server: $schema={schema_address('config')}", "runners:"]
    for agent in agents:
        model = f", model: {MODELS[agent]}" if agent in MODELS else ""
        lines.append(f"  {agent}: {{ agent: {{ type: {agent}{model} }} }}")
    return "\n".join(lines) + "\n"


def _workflow(secrets: Iterable[str], branch: str, configuration: str) -> str:
    lines = [f"          {name}: ${{{{ secrets.{name} }}}}\n" for name in secrets]
    return (
        _WORKFLOW.replace("    CONDITION\n", _CONDITION if lines else "")
        .replace("CONFIGURATION", configuration)
        .replace("BRANCH", quoted(branch))
        .replace("        SECRETS\n", "".join(["        env:\n", *lines] if lines else []))
    )


_WORKFLOW = """\
name: skillgym
on:
  push:
    branches: [BRANCH]
  pull_request:
permissions: {}
concurrency:
  group: skillgym-${{ github.event.pull_request.number || github.sha }}
  cancel-in-progress: true
jobs:
  agents:
    CONDITION
    runs-on: ubuntu-latest
    timeout-minutes: 60
    permissions:
      contents: write # results of the default branch are kept on the branch skillgym-data, as the baseline
      pull-requests: write # the comment
    steps:
      - uses: actions/checkout@de0fac2e4500dabe0009e67214ff5f5447ce83dd # v6.0.2
        with:
          fetch-depth: 0 # the baseline is of the commits that the pull request is based on
          persist-credentials: false
      - uses: actions/cache@cdf6c1fa76f9f475f3d7449005a359c84ca0f306 # v5.0.3 # zizmor: ignore[cache-poisoning]
        with:
          path: ${{ runner.temp }}/skillgym-agents
          key: skillgym-agents-${{ runner.os }}-${{ runner.arch }}-${{ hashFiles('CONFIGURATION', 'WORKFLOW') }}
      - uses: org/skillgym-action@v1 # zizmor: ignore[unpinned-uses] or pin the commit of a release
        id: skillgym
        with:
          agents-cache: skillgym-agents
          repeat: auto # before a regression is reported, the base commit runs beside the pull request
        SECRETS
      - uses: actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0
        if: ${{ always() && steps.skillgym.outputs.report-dir }}
        with:
          name: skillgym-report
          path: ${{ steps.skillgym.outputs.report-dir }}
""".replace("WORKFLOW", WORKFLOW)
_CONDITION = """\
    # GitHub passes no secrets to pull requests from forks and from Dependabot
    if: >-
      ${{ github.event_name != 'pull_request'
      || (github.event.pull_request.head.repo.full_name == github.repository
      && github.event.pull_request.user.login != 'dependabot[bot]') }}
"""
