"""Suites in TypeScript are checked by tsc as strictly as their authors want, with types that say what is there."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import fields
from typing import TYPE_CHECKING, Any, get_args

import pytest

from npm_packages import node_modules
from paths import DATA, REPOSITORY
from scratch import repository, skillgym, written
from skillgym_action.agents import AGENTS
from skillgym_action.model import session_report as told
from skillgym_action.model.json_codec import camel_case
from skillgym_action.model.token_snapshots import METRIC_FIELDS
from skillgym_action.model.verdicts import TROUBLES
from skillgym_action.settings import configuration as config
from skillgym_action.settings.option_types import Schedule
from skillgym_package import new_node
from suite_programs import session_report, suite_hosts
from typescript_keys import TYPES, with_all_keys

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

pytestmark = pytest.mark.slow  # npm installs the compiler

COMPILER = ("typescript-7.0.2", "typescript@7.0.2", "@types/node@24.10.1")
FILE = re.compile(r"^<!-- file: (\S+) -->\n```\w*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
DOCUMENTED = dict(FILE.findall((REPOSITORY / "docs/reference/typescript-suites.md").read_text(encoding="utf-8")))


def checked(folder: Path, files: Mapping[str, str]) -> list[str]:
    """What tsc says of those files, set up as the documentation says."""
    types = skillgym("schema", "typescript", cwd=REPOSITORY).out
    written(folder, {"tsconfig.json": DOCUMENTED["tsconfig.json"], "skillgym.d.ts": types, **files})
    modules = node_modules(*COMPILER)
    (folder / "node_modules").symlink_to(modules)
    argv = (new_node(), str(modules / "typescript" / "bin" / "tsc"), "--pretty", "false")
    return subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False).stdout.splitlines()


# --- what suites may write ----------------------------------------------------------------------------

HEAD = """\
import { assert, commandMatcher, CommandMatcherBuilder } from "skillgym";
import type { AssertionContext, Case, SessionReport, SkillGymConfig, Suite, SuiteWorkspaceConfig } from "skillgym";

declare const report: SessionReport, ctx: AssertionContext, text: string | undefined;
"""
SOUND = """\
assert(text);
text.length;
assert.strict.throws(() => assert.fail("x"), assert.AssertionError);
const number: number = assert.classify("own", () => 5);
const promise: Promise<void> = assert.classify({ id: "own" }, async () => {});
assert.skills.has(report, "deploy", { minConfidence: "strong", message: "deploy it" });
const built = new CommandMatcherBuilder("npm").args("run", /^t/).option("--watch").flag("-y").endOfOptions().exact();
assert.commands.only(report, ["npm", /^ls/, built, { executable: "git", options: { "-m": true, "-e": ["a", /b/] } }]);
assert.fileReads.before(report, "README", /\\.ts$/, { explain: { question: "Why?" } });
assert.toolCalls.sequence(report, ["Read", { tool: /Bash/, where: (args, event) => args.path === event.at }]);
assert.output.includes(report, "done", { explain: { question: ({ actual }) => (actual ? `${actual}?` : undefined) } });
assert.soft(1 > 2, "mine");
assert.soft.commands.size(report, 2);
assert.soft.equal(ctx.getToolCalls("Bash")[0]?.durationMs, report.usage.totalTokens);
for (const event of report.events) if (event.type === "command") event.exitCode?.toFixed();
export const shared: SuiteWorkspaceConfig = { mode: "shared", cwd: "." };
export const settings: SkillGymConfig = { runners: { r: { agent: { type: "codex" } } }, run: { repeat: 2 } };
const cases: Suite = { named: { id: "a", prompt: "p", async assert() {} } };
export default cases;
"""
MISTAKES = {
    "assert.skills.has(report, 5);": "'number' is not assignable to parameter of type 'string'",
    'assert.skills.has(report, "x", { minConfidence: "sure" });': "not assignable to type 'SkillConf",
    "assert.commands.includes(report, 5);": "'number' is not assignable to parameter of type 'CommandMatcher'",
    'assert.fileReads.includes(report, commandMatcher("x"));': "is not assignable to parameter of type 'Matcher'",
    'assert.toolCalls.has(report, { tol: "Read" });': "'tol' does not exist in type",
    "assert.output.not_empty(report);": "Property 'not_empty' does not exist on type 'OutputAssertions'",
    "assert.soft.skills.onlyOne(report);": "Property 'onlyOne' does not exist",
    "assert.soft.ok(text); text.length; export {};": "'text' is possibly 'undefined'",
    'assert.output.includes(report, "x", { explain: "Why?" });': "is not assignable to type 'ExplainOptions'",
    'commandMatcher("x").args(5);': "'number' is not assignable to parameter of type 'Matcher'",
    "report.final_output;": "Did you mean 'finalOutput'?",
    "report.events[0].command;": "Property 'command' does not exist on type 'SessionEvent'",
    "ctx.getNothing();": "Property 'getNothing' does not exist on type 'AssertionContext'",
    'const one: Case = { id: "a", prompt: "p", tag: ["x"], assert() {} };': "'tag' does not exist in type 'Case'",
    'const two: Case = { id: "a", prompt: "p" };': "Property 'assert' is missing",
    'const place: SuiteWorkspaceConfig = { mode: "isolated", cwd: "." };': "is not assignable to type 'SuiteWorkspace",
    "const set: SkillGymConfig = { run: { retries: 2 } };": "'retries' does not exist in type 'RunConfig'",
}


def test_the_suites_that_define_the_format_and_those_of_the_documentation_have_no_type_errors(tmp_path):
    suites = [*DATA.glob("skillgym/*.ts"), DATA / "vectors-suite.ts", *REPOSITORY.glob("examples/typescript/*.ts")]
    files = {f"{suite.parent.name}/{suite.name}": suite.read_text(encoding="utf-8") for suite in suites}
    files |= {name: text for name, text in DOCUMENTED.items() if name.endswith(".ts")}
    assert len(files) >= 12
    assert checked(tmp_path, files) == []


def test_a_sound_suite_has_no_type_errors_and_every_mistake_has_one(tmp_path):
    mistakes = {f"mistake-{number:02}.ts": HEAD + code for number, code in enumerate(MISTAKES)}
    errors = checked(tmp_path, {"sound.ts": HEAD + SOUND} | mistakes)
    named = [error for error in errors if not error.startswith(" ")]
    assert [error.partition("(")[0] for error in named] == sorted(mistakes), errors
    told = ["\n".join(errors[errors.index(one) :]).split("\nmistake-")[0] for one in named]
    assert [text for text, message in zip(told, MISTAKES.values(), strict=True) if message not in text] == []


# --- what is there --------------------------------------------------------------------------------------

INTERFACES = {
    "SessionReport": told.SessionReport,
    "RunnerInfo": told.RunnerRef,
    'RunnerInfo["agent"]': told.AgentRef,
    "SessionFiles": told.ObservedFiles,
    "SkillDetection": told.SkillDetection,
    "Cost": told.Cost,
    "Trouble": told.Trouble,
    "MessageEvent": told.Message,
    "ToolCallEvent": told.ToolCall,
    "ToolResultEvent": told.ToolResult,
    "CommandEvent": told.Command,
    "FileReadEvent": told.FileRead,
    "FileWriteEvent": told.FileWrite,
    "SkillSignalEvent": told.SkillSignal,
    "RawEvent": told.Raw,
}
SECTIONS = {
    "skillgym.SkillGymConfig": config.ConfigFile,
    "skillgym.RunConfig": config.RunSection,
    'NonNullable<skillgym.RunConfig["judge"]>': config.JudgeSection,
    "skillgym.WorkspaceBootstrapConfig": config.BootstrapSection,
    'NonNullable<skillgym.SkillGymConfig["defaults"]>': config.DefaultsSection,
    "skillgym.ReportConfig": config.ReportSection,
    "skillgym.SnapshotConfig": config.SnapshotsSection,
    'skillgym.SnapshotConfig["tolerance"]': config.ToleranceSection,
    "skillgym.ModelPrice": config.PriceSection,
    "skillgym.RunnerConfig": config.RunnerSection,
    "skillgym.AgentConfig": config.AgentSection,
}


def test_keys_that_are_settings_are_added_to_the_types():
    text = TYPES.read_text(encoding="utf-8")
    assert with_all_keys(text) == text
    lines = {
        "  maxSteps?: number;",
        '  confirm?: "auto" | "always" | "never";',
        "  allowPartial?: boolean;",
        "  commentId?: string;",
    }
    without = "".join(line for line in text.splitlines(keepends=True) if line.rstrip("\n") not in lines)
    assert len(text.splitlines()) - len(without.splitlines()) == len(lines)
    assert sorted(with_all_keys(without).splitlines()) == sorted(text.splitlines())


PROBE = """\
import strict from "node:assert/strict";
import * as all from "skillgym";

const { assert, CommandMatcherBuilder } = all;
const own = (value: object, known: object = {}) => Object.getOwnPropertyNames(value).filter((name) => !(name in known));
const told = (names: object): never => { throw new Error(JSON.stringify(names)); };
export default {
  exports: { prompt: "p", assert: () => told(own(all)) },
  soft: { prompt: "p", assert: () => told(own(assert.soft, strict)) },
  skills: { prompt: "p", assert: () => told(own(assert.skills)) },
  commands: { prompt: "p", assert: () => told(own(assert.commands)) },
  fileReads: { prompt: "p", assert: () => told(own(assert.fileReads)) },
  toolCalls: { prompt: "p", assert: () => told(own(assert.toolCalls)) },
  output: { prompt: "p", assert: () => told(own(assert.output)) },
  builder: { prompt: "p", assert: () => told(own(CommandMatcherBuilder.prototype, { constructor: 1 })) },
  form: { prompt: "p", assert: () => told(own(new CommandMatcherBuilder().build())) },
  context: { prompt: "p", assert: (report, ctx) => told(own(ctx)) },
  usage: { prompt: "p", assert: ({ usage }) => told(own(usage)) },
  question: {
    prompt: "p",
    assert: (report) => assert.output.includes(report, "x", { explain: { question: (context) => told(own(context)) } }),
  },
  unknown: { prompt: "p", assert() {}, nonsense: 1 },
  result: { prompt: "p", classifyFailure: (result) => JSON.stringify(own(result)), assert: () => assert.fail() },
};
"""
HELPERS = """\
import type * as skillgym from "skillgym";
import type strict from "node:assert/strict";
type Shape<T> = { [K in keyof T]-?: {} extends Pick<T, K> ? "optional" : "required" };
type Names<T> = { [K in keyof T]-?: true };
"""


def shape(names: Iterable[tuple[str, bool]]) -> dict[str, str]:
    return {camel_case(name): "optional" if optional else "required" for name, optional in names}


def of_dataclass(cls: Any) -> dict[str, str]:
    """What is None is left out when it is told to suites; so is no field that has another default."""
    return shape((field.name, field.default is None) for field in fields(cls))


def of_section(cls: Any) -> dict[str, str]:
    """Keys of a configuration, with the other names they have."""
    names = []
    for name, field in cls.model_fields.items():
        others = getattr(field.validation_alias, "choices", [field.alias or name])
        names += [(str(other), not field.is_required()) for other in others]
    return shape(dict(names).items())


@pytest.fixture(scope="module")
def there(tmp_path_factory) -> dict[str, list[str]]:
    """Names that a suite finds in a real suite host."""
    folder = repository(tmp_path_factory.mktemp("there"), {"probe-suite.ts": PROBE})
    file = folder / "probe-suite.ts"
    report = session_report(usage=told.Usage(**dict.fromkeys([f.name for f in fields(told.Usage)], 1)))
    with suite_hosts(folder) as hosts:
        loaded = hosts.load(file)
        names = {}
        for case in [case["id"] for case in loaded["cases"] if not case["classify"]]:
            (outcome,) = hosts.judge(file, case, report)
            names[case] = json.loads(re.search(r"\[.*\]", outcome.explanation)[0])
    (problem,) = loaded["problems"]
    skillgym("run", "probe-suite.ts", "--case", "result", "--output", "out", cwd=folder)
    (suite,) = json.loads((folder / "out" / "results.json").read_text())["suites"]
    (result,) = [result for result in suite["results"] if result["caseId"] == "result"]
    known = problem["remedy"].removeprefix("known: ").split(", ")
    return names | {"case": known, "result": json.loads(result["failureClass"]["id"])}


def constants(there: Mapping[str, list[str]]) -> dict[str, object]:
    """A value for each type; tsc refuses it when it has a name too many or too few."""
    names = {
        "Names<typeof skillgym>": there["exports"],
        "Record<Exclude<keyof skillgym.SkillGymSoftAssert, keyof typeof strict>, true>": there["soft"],
        "Record<Exclude<keyof skillgym.SkillGymAssert, keyof typeof strict>, true>": ["soft", *there["soft"]],
        "Names<skillgym.RunnerResult>": there["result"],
        "Names<skillgym.SkillAssertions>": there["skills"],
        "Names<skillgym.CommandAssertions>": there["commands"],
        "Names<skillgym.FileReadAssertions>": there["fileReads"],
        "Names<skillgym.ToolCallAssertions>": there["toolCalls"],
        "Names<skillgym.OutputAssertions>": there["output"],
        "Names<skillgym.CommandMatcherBuilder>": there["builder"],
        "Names<skillgym.StructuredCommandMatcher>": ["exact", *there["form"]],
        "Names<skillgym.AssertionContext>": there["context"],
        "Names<skillgym.UsageReport>": there["usage"],
        "Names<skillgym.ExplainQuestionContext>": ["actual", *there["question"]],
        "Names<skillgym.Case>": there["case"],
        "Record<keyof skillgym.SuiteWorkspaceConfig, true>": [
            "limits",
            *map(camel_case, config.WorkspaceSection.model_fields),
        ],
        "Record<skillgym.AgentType, true>": [
            name for name, agent in AGENTS.items() if agent.format is None and not agent.internal
        ],
        "Record<skillgym.ScheduleMode, true>": get_args(Schedule),
        'Record<NonNullable<skillgym.SnapshotConfig["metric"]>, true>': METRIC_FIELDS,
        "Record<skillgym.RunnerFailureOrigin, true>": {
            "assertion",
            *(kind.origin for kind in TROUBLES.values()),
            *(kind.errored_origin for kind in TROUBLES.values() if kind.errored_origin),
        }
        - {"suite", "grader"},
        'Record<skillgym.SessionEvent["type"], true>': [
            event.__dataclass_fields__["type"].default for event in get_args(told.Event)
        ],
    }
    values: dict[str, object] = {type_: dict.fromkeys(found, True) for type_, found in names.items()}
    values |= {f"Shape<skillgym.{interface}>": of_dataclass(cls) for interface, cls in INTERFACES.items()}
    return values | {f"Shape<{section}>": of_section(cls) for section, cls in SECTIONS.items()}


def test_the_types_name_what_is_there_and_nothing_else(tmp_path, there):
    values = constants(there)
    lines = [f"export const c{n}: {type_} = {json.dumps(value)};" for n, (type_, value) in enumerate(values.items())]
    assert checked(tmp_path, {"complete.ts": HELPERS + "\n".join(lines)}) == []
