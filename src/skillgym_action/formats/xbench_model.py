"""The content of an x-bench suite file, as models: types, limits, names of keys."""

from __future__ import annotations

from typing import Annotated

from pydantic import Discriminator, Field, Tag, WithJsonSchema

from skillgym_action.documents.arm_sections import NAMED_ARMS, ArmSection
from skillgym_action.documents.container_sections import MAX_CPUS, ContainerKeys
from skillgym_action.documents.json_schemas import matching
from skillgym_action.documents.option_values import Count, NamedPath, Size  # noqa: TC001 - pydantic reads annotations
from skillgym_action.formats.xbench_expectations import ExpectationSection, Seconds, Text, XbenchSection
from skillgym_action.formats.xbench_schema import WRITTEN_EXPECTATION

Dollars = Annotated[float, Field(gt=0)]


def _shape(value: object) -> str:
    return "object" if isinstance(value, dict) else "text"


class SuiteDefaultsSection(XbenchSection):
    """``defaults``: for cases that do not set these values."""

    budget: Dollars | None = None
    timeout: Seconds | None = None


class SuiteBootstrapSection(XbenchSection):
    """``workspace.bootstrap`` as an object; words that start with ``./`` or ``../`` are relative to the suite file."""

    command: Text
    args: list[str] = Field(default_factory=list)
    timeout: Seconds = 300.0
    env: dict[str, str] = Field(default_factory=dict)


class SuiteLimitsSection(XbenchSection):
    """``workspace.limits``: what a session may use; they can only lower the limits of the run.

    ``cpus`` is for containers; ``pids`` is another name of ``processes``.
    """

    memory: Size = None
    disk: Size = None
    processes: Count = None
    file_size: Size = Field(default=None, alias="fileSize")
    cpus: float | None = Field(default=None, gt=0, le=MAX_CPUS)
    pids: Count = None


class SuiteWorkspaceSection(XbenchSection, ContainerKeys):
    """``workspace``. Without ``templateDir`` it is a copy of the repository; ``bootstrap`` may be one shell line."""

    template_dir: Annotated[NamedPath, WithJsonSchema(matching(r"^(?!/)[^\0]+$"))] | None = Field(
        default=None, alias="templateDir"
    )
    bootstrap: (
        Annotated[Annotated[Text, Tag("text")] | Annotated[SuiteBootstrapSection, Tag("object")], Discriminator(_shape)]
        | None
    ) = None
    limits: SuiteLimitsSection | None = None


Expectation = Annotated[
    Annotated[Text, Tag("text"), WithJsonSchema(WRITTEN_EXPECTATION)] | Annotated[ExpectationSection, Tag("object")],
    Discriminator(_shape),
]


class CaseSection(XbenchSection):
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


class SuiteArmSection(ArmSection):
    """``arms.<id>`` of a suite: variables have plain values, so schema and texts differ from the configuration's."""


class SuiteSection(XbenchSection):
    """A whole suite file."""

    name: Text | None = None
    description: str | None = None
    model: Text | None = None
    defaults: SuiteDefaultsSection = SuiteDefaultsSection()
    cases: list[CaseSection]
    tags: list[Text] = Field(default_factory=list)
    workspace: SuiteWorkspaceSection = SuiteWorkspaceSection()
    runners: list[Text] = Field(default_factory=list)
    arms: Annotated[dict[str, SuiteArmSection], Field(json_schema_extra=NAMED_ARMS)] | None = None
