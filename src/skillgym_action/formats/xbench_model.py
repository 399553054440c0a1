"""What an x-bench suite file holds, as models: types, limits, names of keys."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag

from skillgym_action.documents.option_values import Count, Size  # noqa: TC001 - pydantic reads annotations

LONGEST_WAIT = 7 * 24 * 3600.0
"""Seconds a case or a command may be given: a week."""

Text = Annotated[str, Field(min_length=1)]
Dollars = Annotated[float, Field(gt=0)]
Seconds = Annotated[float, Field(gt=0, le=LONGEST_WAIT)]


def _shape(value: object) -> str:
    return "object" if isinstance(value, dict) else "text"


class _Section(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        defer_build=True,
        json_schema_extra={"patternProperties": {r"^(x-.*|\$schema)$": {}}},
    )


class DefaultsSection(_Section):
    """``defaults``: for cases that do not say."""

    budget: Dollars | None = None
    timeout: Seconds | None = None


class BootstrapSection(_Section):
    """``workspace.bootstrap`` as an object; words that start with ``./`` or ``../`` are relative to the suite file."""

    command: Text
    args: list[str] = Field(default_factory=list)
    timeout: Seconds = 300.0
    env: dict[str, str] = Field(default_factory=dict)


class LimitsSection(_Section):
    """``workspace.limits``: what a session may use; they can only lower the limits of the run."""

    memory: Size = None
    disk: Size = None
    processes: Count = None
    file_size: Size = Field(default=None, alias="fileSize")


class WorkspaceSection(_Section):
    """``workspace``. Without ``templateDir`` it is a copy of the repository; ``bootstrap`` may be one shell line."""

    template_dir: Text | None = Field(default=None, alias="templateDir")
    bootstrap: (
        Annotated[Annotated[Text, Tag("text")] | Annotated[BootstrapSection, Tag("object")], Discriminator(_shape)]
        | None
    ) = None
    limits: LimitsSection | None = None


class ExpectationSection(_Section):
    """An expectation as an object: one of the four kinds, and what goes with it. ``timeout`` is in seconds."""

    file: Text | None = None
    test: Text | None = None
    diff: Text | None = None
    no_file: Text | None = Field(default=None, alias="no-file")
    exists: Literal[True] | None = None
    contains: str | None = None
    matches: str | None = None
    glob: bool = False
    timeout: Seconds | None = None
    exits: Annotated[int, Field(ge=0, le=255)] | None = None
    fails: bool = False
    fail_fast: bool = Field(default=False, alias="failFast")


Expectation = Annotated[
    Annotated[Text, Tag("text")] | Annotated[ExpectationSection, Tag("object")],
    Discriminator(_shape),
]


class CaseSection(_Section):
    """``cases[]``. ``budget`` is in US dollars, ``timeout`` in seconds."""

    id: Text
    prompt: Text
    expect: Annotated[list[Expectation], Field(min_length=1)]
    budget: Dollars | None = None
    timeout: Seconds | None = None
    model: Text | None = None
    tags: list[Text] = Field(default_factory=list)
    expected_fail: bool = Field(default=False, alias="expectedFail")
    runners: list[Text] = Field(default_factory=list)


class SuiteSection(_Section):
    """A whole suite file."""

    name: Text | None = None
    description: str | None = None
    model: Text | None = None
    defaults: DefaultsSection = DefaultsSection()
    cases: list[CaseSection]
    tags: list[Text] = Field(default_factory=list)
    workspace: WorkspaceSection = WorkspaceSection()
    runners: list[Text] = Field(default_factory=list)
