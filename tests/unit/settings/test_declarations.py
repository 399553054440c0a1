"""Every field of ``Settings`` declares who needs it, and each of these gets exactly the fields that say so."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, replace
from typing import Any

import pytest
from pydantic import ValidationError

from skillgym_action.pipeline.pipeline import journal_settings
from skillgym_action.sessions.engines.announcement import shipped_settings
from skillgym_action.settings import resolve
from skillgym_action.settings.configuration_file import Config
from skillgym_action.settings.context import current_context
from skillgym_action.settings.declarations import RESUME, REUSE, SESSIONS, WORKERS, Setting
from skillgym_action.settings.settings import Settings, declared

FIELDS = list(Settings.model_fields)
WRITTEN = (
    *(
        True,
        "7",
        "0.5",
        "1/2",
        "branch",
        "90d",
        "json",
        "docker",
        "always",
        "update",
        "on",
        "auto",
        "none",
        "all",
        "failed",
    ),
    *("parallel", "never", "changed", "x-bench", "junit=a.xml", "anthropic=4", "memory=4GiB", "a"),
)
"""Values of settings as users write them; each setting accepts some of them."""


def set_to_something(name: str) -> Settings:
    """Settings in which one has a value, and is the only one."""
    for value in WRITTEN:
        with suppress(ValidationError):
            made = Settings(**{name: value})  # type: ignore[arg-type]
            if made != Settings():
                return made
    raise AssertionError(f"no value for {name}")


@pytest.fixture
def options(tmp_path):
    return resolve.options(Settings(), Config(), current_context(tmp_path, {}), runners=1)


@pytest.mark.parametrize("name", FIELDS)
def test_a_setting_is_declared_once_with_its_uses(name):
    found = [one for one in Settings.model_fields[name].metadata if isinstance(one, Setting)]
    assert len(found) == 1
    assert set(found[0].uses) <= set(SESSIONS)
    assert (found[0].group is None) == (found[0].commands == ()) == (declared(name)[1] is None)


def test_whoever_adds_a_setting_has_to_say_its_uses():
    with pytest.raises(TypeError, match="uses"):
        Setting((), None)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", FIELDS)
def test_workers_get_exactly_the_settings_that_say_so(name, tmp_path):
    shipped = shipped_settings(set_to_something(name), current_context(tmp_path, {}))
    assert shipped.keys() - {"engine"} == ({name} if WORKERS in declared(name)[0].uses else set())


def changed(options: Any, name: str) -> list[Any]:
    """The options with another value of the field in each slice that has it."""
    with_it = [one.name for one in fields(options) if hasattr(getattr(options, one.name), name)]
    return [replace(options, **{one: replace(getattr(options, one), **{name: 77})}) for one in with_it]


@pytest.mark.parametrize("name", FIELDS)
def test_journals_and_digests_have_exactly_the_settings_that_say_so(name, options):
    uses = declared(name)[0].uses
    before = journal_settings(options), resolve.values_for(REUSE, options)
    after = [(journal_settings(other), resolve.values_for(REUSE, other)) for other in changed(options, name)]
    assert any(journal != before[0] for journal, _ in after) == (RESUME in uses)
    assert any(values != before[1] for _, values in after) == (REUSE in uses)


def test_a_journal_names_settings_as_options_and_leaves_default_words_out(options):
    execute = replace(options.execute, require=2, confirm="never", retry=0, max_steps=9)
    load = replace(options.load, threshold=0.5)
    found = journal_settings(replace(options, execute=execute, load=load))
    assert found.items() >= {"repeat": 1, "require": "2", "confirm": "never", "retry": 0}.items()
    assert found.items() >= {"on-limit": None, "max-steps": 9, "threshold": 0.5, "agentv-compat": None}.items()
