"""No format drops a key silently: each key has an effect, or a message names it.

Every mapping of a file with all keys of its format gets an unknown key, every known key is misspelled, and every value
is replaced by one of another type. What was written is then found in what was loaded, or in a message.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scratch import skillgym, written
from skillgym_action.model.errors import SkillgymError
from skillgym_action.pipeline.stages.load import SuiteFileAccess
from skillgym_action.suites.programs import python as python_suite
from skillgym_action.suites.programs import typescript as typescript_suite
from suite_programs import HEAD, suite_hosts
from whole_suites import FILES, WholeFile, at, changed, keys_of, mappings_of, misspelled

if TYPE_CHECKING:
    from pathlib import Path

    from proofs import Proved

EXAMPLES = 60
MARK = "zzmarkzz"
UNKNOWN = "zzunknownzz"
OTHER_TYPES = (MARK, 7.25, [MARK], {MARK: MARK})
PROVED = ("suites", "keys of suites and configurations that were changed, none of which was dropped silently")
every_file = pytest.mark.parametrize("name", FILES)


@every_file
def test_a_file_with_all_keys_of_its_format_has_no_message(name, tmp_path):
    file = FILES[name]
    assert file.loaded(tmp_path, file.value).messages == ()


@every_file
def test_an_unknown_key_is_kept_or_named(name, tmp_path, proved: Proved):
    file = FILES[name]
    dropped = []
    for path in (places := [(*mapping, UNKNOWN) for mapping in mappings_of(file.value)]):
        loaded = file.loaded(tmp_path, changed(file.value, path, MARK))
        if not loaded.mention(file.shown(path)) and not loaded.keep(MARK):
            dropped.append(file.shown(path))
    assert set(dropped) <= file.unused
    proved(*PROVED, len(places))


@every_file
def test_a_misspelled_key_is_kept_or_named(name, tmp_path, proved: Proved):
    file = FILES[name]
    dropped = []
    keys = [path for path in keys_of(file.value) if len(str(path[-1])) > 2]
    for path in keys:
        wrong = (*path[:-1], misspelled(str(path[-1])))
        value = json.loads(json.dumps(file.value))
        mapping = at(value, path[:-1])
        mapping[wrong[-1]] = mapping.pop(path[-1])
        loaded = file.loaded(tmp_path, value)
        words = str(wrong[-1]).replace("_", " ")  # keys that are questions to the judge are asked in words
        if not loaded.mention(file.shown(wrong)) and wrong[-1] not in loaded.kept and words not in loaded.kept:
            dropped.append(file.shown(path))
    assert set(dropped) <= file.unused
    proved(*PROVED, len(keys))


@every_file
def test_a_value_of_another_type_is_kept_or_named(name, tmp_path, proved: Proved):
    file = FILES[name]
    dropped, count = [], 0
    for path in keys_of(file.value):
        own = at(file.value, path)
        for other in OTHER_TYPES:
            if type(other) is type(own) or (isinstance(other, float) and isinstance(own, int)):
                continue
            count += 1
            loaded = file.loaded(tmp_path, changed(file.value, path, other))
            if not loaded.mention(file.shown(path)) and not loaded.keep(other):
                dropped.append(f"{file.shown(path)}: {other}")
    assert {place.partition(": ")[0] for place in dropped} <= file.unused | file.without_effect, dropped
    proved(*PROVED, count)


@every_file
def test_keys_of_any_name_are_kept_or_named(name, tmp_path):
    file = FILES[name]
    places = [path for path in mappings_of(file.value) if file.shown((*path, UNKNOWN)) not in file.unused]

    @settings(max_examples=EXAMPLES, database=None)
    @given(st.sampled_from(places), st.from_regex(r"[a-z]{2,12}", fullmatch=True))
    def holds(place: tuple[str | int, ...], word: str) -> None:
        path = (*place, f"q{word}q")
        loaded = file.loaded(tmp_path, changed(file.value, path, MARK))
        assert loaded.mention(file.shown(path)) or loaded.keep(MARK)

    holds()


# --- suite programs -------------------------------------------------------------------------------------

PYTHON_CASE = "suite = [Case('a', prompt='p', check=lambda report, ctx: None{})]\n"
TYPESCRIPT_CASE = 'export default [{{ id: "a", prompt: "p", assert() {{}}{} }}];\n'


def told(folder: Path, name: str, text: str) -> str:
    """What loading a suite program says."""
    file = written(folder, {name: text}) / name
    format_ = python_suite if name.endswith(".py") else typescript_suite
    with suite_hosts(folder) as hosts:
        try:
            suite = format_.suite(SuiteFileAccess(path=name, file=file, hosts=hosts, environment={}))
        except SkillgymError as error:
            return str(error)
    return "\n".join(map(str, (*suite.warnings, *(one.problem for one in suite.invalid))))


@pytest.mark.parametrize(
    ("key", "more", "beside"),
    [
        ("tagss", ", tagss=['x']", ""),
        ("tags", ", tags=5", ""),
        ("timeout_ms", ", timeout_ms='x'", ""),
        ("expected_fail", ", expected_fail='x'", ""),
        ("classify_failure", ", classify_failure='x'", ""),
        ("modee", "", "workspace = Workspace(modee='shared')\n"),
        ("mode", "", "workspace = Workspace(mode='sharde')\n"),
        ("argss", "", "workspace = Workspace(bootstrap={'command': 'sh', 'argss': []})\n"),
        ("memori", "", "workspace = Workspace(limits={'memori': '1GiB'})\n"),
        ("workspce", "", "workspce = Workspace(mode='shared')\n"),
    ],
)
def test_what_a_python_suite_says_wrongly_is_named(tmp_path, key, more, beside):
    assert key in told(tmp_path, "bench/a_suite.py", HEAD + PYTHON_CASE.format(more) + beside)


@pytest.mark.parametrize(
    ("key", "more", "beside"),
    [
        ("tagss", ', tagss: ["x"]', ""),
        ("tags", ", tags: 5", ""),
        ("timeoutMs", ', timeoutMs: "x"', ""),
        ("expectedFail", ', expectedFail: "x"', ""),
        ("classifyFailure", ', classifyFailure: "x"', ""),
        ("modee", "", 'export const workspace = { modee: "shared" };\n'),
        ("mode", "", 'export const workspace = { mode: "sharde" };\n'),
        ("templateDirr", "", 'export const workspace = { mode: "isolated", templateDirr: "x" };\n'),
        ("argss", "", 'export const workspace = { mode: "isolated", bootstrap: { command: "sh", argss: [] } };\n'),
        ("memori", "", 'export const workspace = { mode: "isolated", limits: { memori: 5 } };\n'),
        ("workspce", "", 'export const workspce = { mode: "shared" };\n'),
    ],
)
def test_what_a_typescript_suite_says_wrongly_is_named(tmp_path, key, more, beside):
    assert key in told(tmp_path, "bench/a-suite.ts", TYPESCRIPT_CASE.format(more) + beside)


def test_a_block_of_a_prompt_that_is_left_out_is_named(tmp_path):
    blocks = [{"type": "text", "value": "Fix it."}, {"type": "text", "valeu": "Change nothing else."}]
    tests = [{"id": "a", "input": [{"role": "user", "content": blocks}], "criteria": "c"}]
    file = WholeFile(path="a.eval.yaml", value={"tests": tests}, format="agentv")
    (message,) = file.loaded(tmp_path, file.value).messages
    assert "tests[0].input[0].content[1].valeu: the block is left out: it has no value" in message
    assert "did you mean 'value' instead of 'valeu'?" in message


def test_a_path_that_is_no_text_is_an_error(tmp_path):
    assertion = {"type": "contains", "value": "x", "path": ["out.txt"]}
    evals = {"evals": [{"prompt": "p", "assertions": [assertion]}]}
    file = WholeFile(path="skills/pdf/evals/evals.json", value=evals, format="skill-evals")
    (message,) = file.loaded(tmp_path, file.value).messages
    assert "evals[0].assertions[0].path: must be text, not a list" in message


def test_check_prints_what_was_dropped_and_ends_with_an_error_on_demand(tmp_path):
    value = {"skill_name": "pdf", "evals": [{"prompt": "p", "expectatoins": ["a"], "expected_output": "b"}]}
    files = {"skills/pdf/SKILL.md": "---\nname: pdf\ndescription: d\n---\n"}
    written(tmp_path, {**files, "skills/pdf/evals/evals.json": json.dumps(value, indent=1)})
    written(tmp_path, {"skillgym.config.yaml": "run: {judge: {api: openai, model: m}}\n"})
    ran = skillgym("check", cwd=tmp_path)
    warning = "evals[0].expectatoins: unknown key 'expectatoins' of a case"
    assert (ran.code, warning in ran.err, "did you mean 'expectations'?" in ran.err) == (0, True, True)
