"""All files that ``init`` writes, and writing them: never over a file that is there, unless it is to be replaced."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillgym_action.documents.json_schemas import schema_address
from skillgym_action.filesystem.folder import Folder
from skillgym_action.model.errors import OutputError, UsageError
from skillgym_action.repository.checkout import folder_to_write_in
from skillgym_action.starter.starter_cases import skill_cases, starter_cases
from skillgym_action.starter.starter_suites import SUITE_FORMATS, quoted

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from skillgym_action.repository.checkout import Checkout
    from skillgym_action.starter.repository_facts import FoundSkill, RepositoryFacts

CONFIGURATION = "skillgym.config.yaml"
WORKFLOW = ".github/workflows/skillgym.yml"
MODELS: Mapping[str, str] = {"claude-code": "claude-sonnet-4-6"}
"""Models to name in the configuration; other agents use the default of their CLI."""


@dataclass(frozen=True, kw_only=True, slots=True)
class StarterFile:
    """A file to write. ``path``: relative to the repository."""

    path: str
    text: str


def starter_files(
    facts: RepositoryFacts, *, suite_format: str, keys: Mapping[str, str], branch: str
) -> tuple[StarterFile, ...]:
    """Suite, configuration and workflow. Raises UsageError for ``skill-evals`` if no skill is without evals.

    ``suite_format``: a key of ``SUITE_FORMATS``. ``keys``: the variable with the key of each agent. ``branch``: the
    default branch of the repository.
    """
    suite = _suite(facts, suite_format)
    return (
        suite,
        StarterFile(path=CONFIGURATION, text=_configuration(keys)),
        StarterFile(path=WORKFLOW, text=_workflow(keys.values(), branch)),
    )


def write_files(files: Iterable[StarterFile], checkout: Checkout, root: Path, *, force: bool) -> None:
    """Write files into the checkout. Raises UsageError if one is there and not ``force``, and OutputError."""
    wanted = tuple(files)
    there = [file.path for file in wanted if (root / file.path).exists() or (root / file.path).is_symlink()]
    if there and not force:
        remedy = "keep them, or replace them with --force"
        raise UsageError(f"{', '.join(there)}: {'exists' if len(there) == 1 else 'exist'} already", remedy=remedy)
    for file in wanted:
        path = root / file.path
        try:
            with folder_to_write_in(path, checkout) as above:
                Folder(above).write(path.name, file.text.encode(), 0o644)
        except OSError as error:
            raise OutputError(f"cannot write {file.path}: {error.strerror or error}") from error


def _suite(facts: RepositoryFacts, suite_format: str) -> StarterFile:
    chosen = SUITE_FORMATS[suite_format]
    if chosen.file is None:
        skill = _skill(facts)
        return StarterFile(path=skill.evals, text=chosen.text(skill_cases(skill)))
    return StarterFile(path=chosen.file, text=chosen.text(starter_cases(facts)))


def _skill(facts: RepositoryFacts) -> FoundSkill:
    if facts.skills_without_evals:
        return facts.skills_without_evals[0]
    if facts.skills:
        remedy = "add cases to them, or choose another --format"
        raise UsageError("--format skill-evals: each skill of the repository has evals already", remedy=remedy)
    remedy = "add a folder with a SKILL.md, or choose another --format"
    raise UsageError("--format skill-evals: the repository has no skill, a folder with a SKILL.md", remedy=remedy)


def _configuration(agents: Iterable[str]) -> str:
    lines = [f"# yaml-language-server: $schema={schema_address('config')}", "runners:"]
    for agent in agents:
        model = f", model: {MODELS[agent]}" if agent in MODELS else ""
        lines.append(f"  {agent}: {{ agent: {{ type: {agent}{model} }} }}")
    return "\n".join(lines) + "\n"


def _workflow(keys: Iterable[str], branch: str) -> str:
    lines = [f"          {name}: ${{{{ secrets.{name} }}}}\n" for name in dict.fromkeys(keys)]
    return _WORKFLOW.replace("          SECRETS\n", "".join(lines)).replace("BRANCH", quoted(branch))


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
        env:
          SECRETS
      - uses: actions/upload-artifact@bbbca2ddaa5d8feaa63e36b76fdaad77386f024f # v7.0.0
        if: ${{ always() && steps.skillgym.outputs.report-dir }}
        with:
          name: skillgym-report
          path: ${{ steps.skillgym.outputs.report-dir }}
""".replace("CONFIGURATION", CONFIGURATION).replace("WORKFLOW", WORKFLOW)
