"""Suites in TypeScript and JavaScript, in real Node processes: what they do to themselves costs one execution."""

from __future__ import annotations

import os
import sys
import time
from textwrap import dedent

import pytest

from skillgym_action.model.errors import ConfigError, Location, SuiteError
from skillgym_action.model.json_codec import to_json
from skillgym_action.model.session_report import Message
from skillgym_action.model.verdicts import FailureClass
from skillgym_action.suites.programs.hosts.node import MEMORY_OPTIONS, Node
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.processes.launcher import ProcessLauncher
from suite_programs import session_report, suite_hosts

NAME = "bench/demo-suite.ts"
HEAD = 'import { assert, commandMatcher, type Case, type SessionReport } from "skillgym";\n'


def written(folder, body, name=NAME, head=HEAD):
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(head + dedent(body), encoding="utf-8")
    return file


def one_case(check, more=""):
    """A suite with the case ``it``, whose check has that body, its first line being line 5 of the file."""
    body = "\n".join("    " + line for line in dedent(check).strip().splitlines())
    head = (
        f'const suite: Case[] = [{{\n  id: "it", prompt: "p", {more}\n  async assert(report, ctx) {{\n{body}\n  }},\n}}'
    )
    return head + ', { id: "next", prompt: "p", assert() {} }];\nexport default suite;\n'


def judged(folder, body, report=None, **settings):
    """The outcomes of the case ``it``."""
    file = written(folder, body)
    with suite_hosts(folder, **settings) as hosts:
        return hosts.judge(file, "it", report or session_report())


def only(outcomes):
    (outcome,) = outcomes
    return outcome


def refused(folder, file, **settings):
    with suite_hosts(folder, **settings) as hosts, pytest.raises(SuiteError) as caught:
        hosts.load(file)
    (problem,) = caught.value.problems
    return problem


def at(line=None, column=None, path=NAME):
    return Location(path=path, line=line, column=column)


# --- verdicts ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "check",
    [
        pytest.param("assert.equal(report.finalOutput, 'ready')", id="report"),
        pytest.param("assert.match(ctx.finalOutput(), /^ready$/)", id="final output"),
        pytest.param("assert.deepEqual(ctx.getCommands(), ['ls'])", id="commands"),
        pytest.param(
            "assert.deepEqual(ctx.getToolCalls('Read').map((c: any) => c.args), [{filePath: 'a.txt', line_no: null}])",
            id="tool calls of one name",
        ),
        pytest.param("assert.equal(ctx.getToolCalls().length, 2)", id="tool calls"),
        pytest.param("assert.deepEqual(ctx.getFileReads(), ['/workspace/a.txt'])", id="file reads"),
        pytest.param("assert.equal(ctx.detectedSkills()[0].skill, 'deploy')", id="skills"),
        pytest.param("assert(report); assert.strict.equal(assert.strict, assert)", id="Node's own surface"),
        pytest.param("await assert.rejects(async () => { throw new Error('x') }, /x/)", id="rejects"),
        pytest.param("assert.throws(() => assert.fail('x'), assert.AssertionError)", id="throws"),
        pytest.param("assert.equal(await assert.classify('k', async () => 7), 7)", id="classify gives what it runs"),
        pytest.param("assert.ok((this as any).id === 'it')", id="a method of its case"),
        pytest.param("await new Promise((resolve) => setTimeout(resolve, 20))", id="waits"),
    ],
)
def test_a_check_that_returns_passes(tmp_path, check):
    outcome = only(judged(tmp_path, one_case(check)))
    assert (outcome.passed, outcome.type, outcome.trouble) == (True, "check", None), outcome.explanation


@pytest.mark.parametrize(
    ("returned", "explanation"),
    [
        pytest.param("false as any", "the check returned false, which has no effect; use `assert`", id="false"),
        pytest.param("true as any", "the check returned true, which has no effect; use `assert`", id="true"),
        pytest.param("'text' as any", "the check returned", id="another value"),
    ],
)
def test_a_value_that_a_check_returns_is_ignored_as_in_skillgym(tmp_path, returned, explanation):
    outcome = only(judged(tmp_path, one_case(f"return {returned}")))
    assert (outcome.passed, outcome.explanation) == (True, explanation)


@pytest.mark.parametrize("imported", ["./rules.ts", "./rules.js"])
def test_types_are_erased_in_another_process(tmp_path, imported):
    written(tmp_path, "export const wanted: string = 'ready';\n", name="bench/rules.ts", head="")
    head = f'{HEAD}import {{ wanted }} from "{imported}";\n'
    check = """
    assert.equal(report.finalOutput, wanted);
    const modules: string[] = (process as any).moduleLoadList;
    assert.deepEqual(modules.filter((name) => name.includes("amaro")), []);
    """
    file = written(tmp_path, one_case(check), head=head)
    with suite_hosts(tmp_path) as hosts:
        assert only(hosts.judge(file, "it", session_report())).passed, "Node's own eraser was loaded"
    assert [log.name for log in tmp_path.rglob("*.log")] == ["demo-suite-1.log"]


RULES = "export const wanted: string = 'ready';\n"
RULES_AS_SCRIPT = "const wanted: string = 'ready';\nmodule.exports = { wanted };\n"


@pytest.mark.parametrize(
    ("files", "statement"),
    [
        pytest.param({"rules.ts": RULES}, 'import { wanted } from "./rules.js";', id="js is ts"),
        pytest.param({"rules.mts": RULES}, 'import { wanted } from "./rules.mjs";', id="mjs is mts"),
        pytest.param({"rules.cts": RULES_AS_SCRIPT}, 'import { wanted } from "./rules.cjs";', id="cjs is cts"),
        pytest.param({"../lib/rules.ts": RULES}, 'import { wanted } from "../lib/rules.js";', id="another folder"),
        pytest.param({"rules.ts": RULES}, 'import { wanted } from "./rules.js?fresh";', id="with a query"),
        pytest.param({"rules.ts": RULES}, 'const { wanted } = await import("./rules.js");', id="a dynamic import"),
        pytest.param(
            {"rules.ts": 'export { wanted } from "./deeper.js";\n', "deeper.ts": RULES},
            'import { wanted } from "./rules.js";',
            id="through another file",
        ),
        pytest.param(
            {"rules.ts": RULES, "plain.js": 'export { wanted } from "./rules.js";\n'},
            'import { wanted } from "./plain.js";',
            id="from JavaScript",
        ),
        pytest.param(
            {"rules.js": RULES.replace(": string", ""), "rules.ts": "export const wanted = 'old';\n"},
            'import { wanted } from "./rules.js";',
            id="JavaScript that is there wins, as in Node",
        ),
    ],
)
def test_a_relative_import_with_the_ending_of_javascript_finds_typescript(tmp_path, files, statement):
    for name, text in files.items():
        written(tmp_path, text, name=f"bench/{name}", head="")
    file = written(tmp_path, one_case("assert.equal(report.finalOutput, wanted)"), head=f"{HEAD}{statement}\n")
    with suite_hosts(tmp_path) as hosts:
        outcome = only(hosts.judge(file, "it", session_report()))
    assert outcome.passed is True, outcome.explanation


def test_require_with_the_ending_of_javascript_finds_typescript(tmp_path):
    written(tmp_path, RULES_AS_SCRIPT, name="bench/rules.ts", head="")
    text = """const { assert } = require("skillgym");
const { wanted } = require("./rules.js");
module.exports = [{ id: "it", prompt: "p", assert: (report) => assert.equal(report.finalOutput, wanted) }];
"""
    file = written(tmp_path, text, name="bench/script-suite.cts", head="")
    with suite_hosts(tmp_path) as hosts:
        outcome = only(hosts.judge(file, "it", session_report()))
    assert outcome.passed is True, outcome.explanation


@pytest.mark.parametrize(
    ("files", "specifier"),
    [
        pytest.param({}, "./rules.js", id="neither is there"),
        pytest.param({"rules.js/index.ts": RULES}, "./rules.jsx", id="an ending that is none of Node's"),
        pytest.param({"node_modules/rules.ts": RULES}, "rules.js", id="a package by name"),
    ],
)
def test_what_is_not_there_is_told_as_it_is_written(tmp_path, files, specifier):
    for name, text in files.items():
        written(tmp_path, text, name=f"bench/{name}", head="")
    file = written(tmp_path, one_case(""), head=f'{HEAD}import {{ wanted }} from "{specifier}";\n')
    with suite_hosts(tmp_path) as hosts, pytest.raises(SuiteError) as caught:
        hosts.load(file)
    (problem,) = caught.value.problems
    assert "Cannot find " in problem.message
    assert specifier.removeprefix("./") in problem.message


@pytest.mark.parametrize(
    ("check", "explanation", "column"),
    [
        pytest.param(
            "assert.equal(report.finalOutput, 'done')",
            "Expected values to be strictly equal:\n\n'ready' !== 'done'",
            12,
            id="equal",
        ),
        pytest.param(
            "/* äöü */ const x: string = 'ß'; assert.ok(!x)",
            "The expression evaluated to a falsy value:\n\n  assert.ok(!x)",
            45,
            id="columns survive what is erased",
        ),
        pytest.param(
            "assert(report.turns)",
            "The expression evaluated to a falsy value:\n\n  assert(report.turns)",
            5,
            id="called",
        ),
        pytest.param("assert.match('a', /b/, 'mine')", "mine", 12, id="own message"),
        pytest.param(
            "assert.skills.has(report, 'x')",
            'expected the skill "x"\n  detected skills:\n    1. deploy (explicit)',
            19,
            id="group",
        ),
        pytest.param("throw new assert.AssertionError({ message: 'own' })", "own", 11, id="thrown"),
        pytest.param("await null; await (async () => assert.fail('later'))()", "later", 43, id="awaited"),
    ],
)
def test_a_failed_assertion_is_a_verdict_with_its_place(tmp_path, check, explanation, column):
    outcome = only(judged(tmp_path, one_case(check)))
    assert (outcome.passed, outcome.trouble, outcome.explanation) == (False, None, explanation)
    assert outcome.location == at(5, column)


def test_a_failure_in_a_module_beside_the_suite_is_shown_there(tmp_path):
    rules = "export function isTwo(n: number): void {\n  assert.equal(n, 2);\n}\n"
    written(tmp_path, rules, name="bench/rules.ts")
    body = 'import { isTwo } from "./rules.ts";\n' + one_case("isTwo(1)")
    assert only(judged(tmp_path, body)).location == at(3, 10, "bench/rules.ts")


def test_a_message_that_looks_like_a_stack_moves_no_place(tmp_path):
    check = "assert.fail('x\\n    at f (/etc/passwd:1:1)')"
    assert only(judged(tmp_path, one_case(check))).location == at(5, 12)


def test_soft_failures_are_told_together_with_their_places(tmp_path):
    check = "assert.soft.ok(0);\nassert.soft.skills.has(report, 'x');\nawait null;\nassert.soft(1 > 2, 'mine');"
    outcome = only(judged(tmp_path, one_case(check)))
    assert (outcome.passed, outcome.location) == (False, at(5, 17))
    assert outcome.explanation == dedent(
        """\
        3 assertion failures collected:
        1. bench/demo-suite.ts:5: expected a true value
        2. bench/demo-suite.ts:6: expected the skill "x"
             detected skills:
               1. deploy (explicit)
        3. bench/demo-suite.ts:8: mine"""
    )


def test_soft_failures_of_one_check_are_not_those_of_the_next(tmp_path):
    file = written(tmp_path, one_case("assert.soft.fail('x')"))
    with suite_hosts(tmp_path) as hosts:
        assert [only(hosts.judge(file, name, session_report())).passed for name in ("it", "next", "it")] == [
            False,
            True,
            False,
        ]


def test_soft_rejects_stays_hard(tmp_path):
    check = "await assert.soft.rejects(async () => 1);\nassert.fail('not reached')"
    assert only(judged(tmp_path, one_case(check))).explanation == "Missing expected rejection."


@pytest.mark.parametrize(
    ("check", "failure_class"),
    [
        pytest.param("assert.classify('k', () => assert.fail('x'))", FailureClass(id="k", label="k"), id="id"),
        pytest.param(
            "assert.classify({ id: 'k', label: 'K' }, () => assert.fail('x'))",
            FailureClass(id="k", label="K"),
            id="label",
        ),
        pytest.param(
            "await assert.classify('k', async () => { await null; assert.fail('x') })",
            FailureClass(id="k", label="k"),
            id="async",
        ),
        pytest.param("assert.classify('k', () => 1);\nassert.fail('x')", None, id="only what fails inside"),
    ],
)
def test_a_failure_carries_its_class(tmp_path, check, failure_class):
    outcome = only(judged(tmp_path, one_case(check)))
    assert (outcome.passed, outcome.failure_class) == (False, failure_class)


ONE, TWO = "new assert.AssertionError({ message: 'one' })", "new assert.AssertionError({ message: 'two' })"


@pytest.mark.parametrize(
    ("check", "passed", "explanation"),
    [
        pytest.param(
            f"throw new AggregateError([{ONE}, {TWO}])",
            False,
            "2 assertion failures collected:\n1. {place}: one\n2. {place}: two",
            id="failures",
        ),
        pytest.param(f"throw new AggregateError([{ONE}], 'mine')", False, "mine\none", id="a failure and a message"),
        pytest.param(
            f"throw new AggregateError([{ONE}, new AggregateError([{TWO}, {TWO}], 'inner')])",
            False,
            "2 assertion failures collected:\n1. {place}: one\n2. {place}: inner\n"
            "   2 assertion failures collected:\n   1. {place}: two\n   2. {place}: two",
            id="nested",
        ),
        pytest.param(
            f"throw new AggregateError([{ONE}, new TypeError('odd')])",
            False,
            "the check raised TypeError: odd\n1 assertion failure collected:\n1. {place}: one",
            id="a failure and a crash",
        ),
        pytest.param(
            "await Promise.any([Promise.reject(new RangeError('a')), Promise.reject('b')])",
            False,
            "the check raised RangeError: All promises were rejected\na\n1 failure collected:\n1. string: 'b'",
            id="crashes",
        ),
        pytest.param(
            f"assert.soft.fail('soft'); throw new AggregateError([{ONE}, {TWO}], 'mine')",
            False,
            "2 assertion failures collected:\n1. {place}: soft\n2. {place}: mine\n"
            "   2 assertion failures collected:\n   1. {place}: one\n   2. {place}: two",
            id="after a soft failure",
        ),
        pytest.param(
            "throw new AggregateError([], 'empty')", False, "the check raised AggregateError: empty", id="none at all"
        ),
    ],
)
def test_an_aggregate_of_errors_is_told_with_its_parts(tmp_path, check, passed, explanation):
    outcome = only(judged(tmp_path, one_case(check)))
    assert (outcome.passed, outcome.explanation) == (passed, explanation.format(place=f"{NAME}:5"))


@pytest.mark.parametrize(
    "check",
    [
        pytest.param("const a = new AggregateError([1]); a.errors.push(a); throw a", id="it holds itself"),
        pytest.param("throw Object.assign(new AggregateError([]), { errors: 5 })", id="its errors are none"),
        pytest.param("throw new AggregateError(Array(200_000).fill(new Error('x')))", id="very many"),
    ],
)
def test_an_aggregate_that_is_odd_is_a_crash_of_this_check(tmp_path, check):
    outcome = only(judged(tmp_path, one_case(check)))
    assert (outcome.passed, outcome.trouble, len(outcome.explanation) < 17_000) == (False, "assert-hook", True)


def test_the_class_of_an_aggregate_is_the_failure_s(tmp_path):
    check = f"assert.classify('own', () => {{ throw new AggregateError([{ONE}, {TWO}]) }})"
    assert only(judged(tmp_path, one_case(check))).failure_class == FailureClass(id="own", label="own")


# --- crashes -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("check", "explanation", "location"),
    [
        pytest.param(
            "(report as any).a.b",
            "the check raised TypeError: Cannot read properties of undefined (reading 'b')",
            at(5, 23),
            id="error",
        ),
        pytest.param("JSON.parse('{')", "the check raised SyntaxError: Expected property name", at(5, 10), id="JSON"),
        pytest.param("throw 'text'", "the check raised string: 'text'", None, id="text"),
        pytest.param("throw undefined", "the check raised undefined: undefined", None, id="undefined"),
        pytest.param(
            "throw Object.assign(new Error('x'), { name: 'AssertionError' })",
            "the check raised AssertionError: x",
            at(5, 25),
            id="called so, but none of Node's",
        ),
        pytest.param(
            "assert.soft.fail('soft');\nthrow new RangeError('x')",
            "the check raised RangeError: x\n1 assertion failure collected:\n1. bench/demo-suite.ts:5: soft",
            at(6, 11),
            id="after a soft failure",
        ),
        pytest.param(
            "setTimeout(() => { throw new RangeError('x') }, 5);\nawait new Promise(() => setInterval(() => 0, 9))",
            "the check raised RangeError: x",
            at(5, 30),
            id="in a timer",
        ),
    ],
)
def test_any_error_that_a_check_raises_fails_it(tmp_path, check, explanation, location):
    outcome = only(judged(tmp_path, one_case(check)))
    assert (outcome.passed, outcome.trouble) == (False, "assert-hook")
    assert outcome.explanation.startswith(explanation)
    assert outcome.location == location


def test_an_assertion_nobody_waits_for_is_a_verdict_all_the_same(tmp_path):
    outcome = only(judged(tmp_path, one_case("assert.rejects(async () => 1)")))
    assert (outcome.passed, outcome.explanation) == (False, "Missing expected rejection.")


@pytest.mark.parametrize(
    ("check", "passed", "explanation"),
    [
        pytest.param("setTimeout(() => assert.fail('late'), 50)", False, "late", id="assertion in a timer"),
        pytest.param("setTimeout(() => assert.soft.fail('late'), 50)", False, "late", id="soft assertion in a timer"),
        pytest.param(
            "setTimeout(() => { throw new RangeError('x') }, 50)", False, "the check raised RangeError: x", id="crash"
        ),
        pytest.param(
            "import('node:fs/promises').then((fs) => fs.readFile('/nowhere'))",
            False,
            "the check raised Error: ENOENT",
            id="rejection after input and output",
        ),
    ],
)
def test_an_error_soon_after_the_check_has_returned_is_one_of_the_check(tmp_path, check, passed, explanation):
    file = written(tmp_path, one_case(check))
    with suite_hosts(tmp_path) as hosts:
        outcome = only(hosts.judge(file, "it", session_report()))
        assert only(hosts.judge(file, "next", session_report())).passed is True
    assert (outcome.passed, outcome.explanation.startswith(explanation)) == (passed, True), outcome.explanation


@pytest.mark.parametrize(
    "check",
    [
        pytest.param("setTimeout(() => assert.fail('much later'), 900)", id="in a timer"),
        pytest.param("setTimeout(async () => assert.fail('much later'), 900)", id="in a promise"),
        pytest.param("setTimeout(() => assert.fail('much later'), 20);\nassert.fail('now')", id="after a failure"),
    ],
)
def test_an_error_of_an_earlier_check_fails_no_other_case(tmp_path, check):
    waits = "{ id: 'waits', prompt: 'p', async assert() { await new Promise((done) => setTimeout(done, 700)) } }"
    body = one_case(check).replace('{ id: "next", prompt: "p", assert() {} }', waits)
    with suite_hosts(tmp_path) as hosts:
        file = written(tmp_path, body)
        hosts.judge(file, "it", session_report())
        outcome = only(hosts.judge(file, "waits", session_report()))
    assert outcome.passed is True, outcome.explanation
    (log,) = tmp_path.rglob("*.log")
    assert "an error after its check had ended: AssertionError [ERR_ASSERTION]: much later" in log.read_text()


WITHIN_A_SECOND = "the check did not answer within 1 s"


@pytest.mark.timed
def test_a_timer_that_a_check_leaves_behind_delays_the_reply_only_for_a_moment(tmp_path):
    def seconds(case_id):
        """The duration of a judgement that passes."""
        began = time.monotonic()
        assert only(hosts.judge(file, case_id, session_report())).passed is True
        return time.monotonic() - began

    with suite_hosts(tmp_path) as hosts:
        file = written(tmp_path, one_case("setInterval(() => 0, 50)"))
        hosts.judge(file, "next", session_report())
        assert 0.4 < seconds("it") < 5
        assert min(seconds("next") for _ in range(3)) < 0.4, "it waited for the timer of another check"


@pytest.mark.parametrize(
    ("check", "explanation"),
    [
        pytest.param("process.exit(3)", "the check ended its process with exit code 3", id="exit"),
        pytest.param("process.kill(process.pid, 'SIGKILL')", "the check was ended by SIGKILL", id="signal"),
        pytest.param("while (true);", WITHIN_A_SECOND, id="loop", marks=pytest.mark.timed),
        pytest.param(
            "await new Promise(() => setInterval(() => 0, 50))",
            WITHIN_A_SECOND,
            id="waits for ever",
            marks=pytest.mark.timed,
        ),
        pytest.param("process.abort()", "the check was ended by SIG", id="abort"),
    ],
)
def test_a_host_that_gives_no_answer_costs_one_judgement_and_is_replaced(tmp_path, check, explanation):
    file = written(tmp_path, one_case(f"console.log('so far');\n{check}"))
    limit = {"call_limit": 1.0} if explanation == WITHIN_A_SECOND else {}
    with suite_hosts(tmp_path, **limit) as hosts:
        outcome = only(hosts.judge(file, "it", session_report()))
        assert only(hosts.judge(file, "next", session_report())).passed is True
    assert (outcome.passed, outcome.trouble) == (None, "assert-hook")
    assert outcome.explanation.startswith(explanation)
    assert outcome.evidence.startswith("so far\n")


def test_a_deadlock_costs_no_time_and_no_host(tmp_path):
    """A host that is waited for until its time limit is replaced."""
    file = written(tmp_path, one_case("await new Promise(() => 0)"))
    with suite_hosts(tmp_path) as hosts:
        names = ("it", "it", "next")
        passed = [only(hosts.judge(file, name, session_report())).passed for name in names]
    assert (passed, len(list((tmp_path / "logs").iterdir()))) == ([None, None, True], 1)


@pytest.mark.parametrize("line", ["{", '{"ok": true, "failures": []}', '{"number": 2, "ok": true, "failures": [1]}'])
def test_a_forged_answer_is_no_verdict(tmp_path, line):
    check = f"const fs = await import('node:fs');\nfs.writeSync(4, {line!r} + '\\n')"
    outcome = only(judged(tmp_path, one_case(check)))
    assert (outcome.passed, outcome.trouble) == (None, "assert-hook")


def test_a_case_the_suite_does_not_have_is_no_verdict(tmp_path):
    file = written(tmp_path, one_case(""))
    with suite_hosts(tmp_path) as hosts:
        outcome = only(hosts.judge(file, "other", session_report()))
    assert (outcome.passed, outcome.trouble) == (None, "assert-hook")
    assert 'the suite has no case "other"' in outcome.explanation


# --- output, input, environment ------------------------------------------------------------------------


def test_what_a_suite_prints_goes_to_the_log(tmp_path):
    check = """
        const { execSync } = await import("node:child_process");
        console.log("printed ä");
        process.stdout.write("x".repeat(300_000) + "\\n");
        console.error("to stderr");
        execSync("echo by a child", { stdio: "inherit" });
    """
    assert only(judged(tmp_path, one_case(check))).passed is True
    (log,) = (tmp_path / "logs").iterdir()
    assert log.read_text(encoding="utf-8").split("\n") == [
        "printed ä",
        "x" * 300_000,
        "to stderr",
        "by a child",
        "",
    ]


def test_a_suite_reads_nothing_from_stdin_and_runs_in_its_folder(tmp_path):
    check = """
        const fs = await import("node:fs");
        assert.equal(fs.readFileSync(0, "utf8"), "");
        assert.equal(process.cwd(), import.meta.dirname);
    """
    outcome = only(judged(tmp_path, one_case(check)))
    assert outcome.passed is True, outcome.explanation


def test_a_suite_sees_only_the_allowed_environment(tmp_path):
    environment = {"PATH": os.environ["PATH"], "GITHUB_TOKEN": "x", "NODE_OPTIONS": "--bad", "LANG": "C.UTF-8"}
    check = "assert.deepEqual(Object.keys(process.env).filter((n) => !['PATH', 'LANG', 'PWD', '_'].includes(n)), [])"
    outcome = only(judged(tmp_path, one_case(check), environment=environment))
    assert outcome.passed is True, outcome.explanation


@pytest.mark.slow
def test_a_report_of_any_size_and_any_text_arrives(tmp_path):
    text = "ä\ud800\u2028\0" * 1_000_000
    report = session_report(events=(Message(role="assistant", text=text),), final_output="ende \ud83d\ude00")
    check = """
        const [{ text }] = report.events as any;
        assert.equal(text.length, 4_000_000);
        assert.equal(text.slice(0, 4), "ä\\ud800\\u2028\\0");
        assert.equal(report.finalOutput, "ende 😀");
    """
    outcome = only(judged(tmp_path, one_case(check), report))
    assert outcome.passed is True, outcome.explanation[:300]


def test_a_message_of_any_size_is_cut(tmp_path):
    outcome = only(judged(tmp_path, one_case("assert.fail('x'.repeat(50_000_000))")))
    assert 16_000 < len(outcome.explanation) < 16_100


def test_an_installed_skillgym_is_not_used(tmp_path):
    installed = "node_modules/skillgym/package.json", "node_modules/skillgym/index.js"
    written(tmp_path, '{"name": "skillgym", "main": "index.js"}', name=installed[0], head="")
    written(tmp_path, "throw new Error('loaded')", name=installed[1], head="")
    assert only(judged(tmp_path, one_case("assert.skills.has(report, 'deploy')"))).passed is True


# --- classify ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classifier", "failure_class"),
    [
        pytest.param(
            "(result) => result.error?.message.includes('wrong') ? 'alias' : undefined",
            FailureClass(id="alias", label="alias"),
            id="an id",
        ),
        pytest.param(
            "(result) => ({ id: result.status, label: result.failureOrigin })",
            FailureClass(id="failed", label="assertion"),
            id="id and label",
        ),
        pytest.param(
            "async (result) => result.failureClass.id + result.report.finalOutput + result.runner.id",
            FailureClass(id="assertionreadyclaude", label="assertionreadyclaude"),
            id="class so far, report, runner",
        ),
        pytest.param("() => undefined", None, id="none"),
        pytest.param("(result) => 'error' in result ? 'null' : undefined", None, id="what is not there is left out"),
        pytest.param("() => { throw 1 }", FailureClass(id="classify-hook", label="Classify hook crash"), id="crash"),
        pytest.param("() => 5", FailureClass(id="classify-hook", label="Classify hook crash"), id="nonsense"),
        pytest.param("() => process.exit(0)", FailureClass(id="classify-hook", label="Classify hook crash"), id="exit"),
    ],
)
def test_a_classifier_names_the_failure_class(tmp_path, classifier, failure_class):
    file = written(tmp_path, one_case("", more=f"classifyFailure: {classifier},"))
    result = {
        "status": "failed",
        "failureOrigin": "assertion",
        "failureClass": {"id": "assertion", "label": "Assertion failure"},
        "error": {"name": "AssertionError", "message": "wrong alias"} if "message" in classifier else None,
        "report": to_json(session_report()),
    }
    with suite_hosts(tmp_path) as hosts:
        assert hosts.classify(file, "it", result) == failure_class


# --- files that cannot be loaded -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "body", "message", "place"),
    [
        pytest.param(
            "a-suite.ts", "x\nexport default [\n  { a: ;", "SyntaxError: Expression expected", (3, 8), id="ts"
        ),
        pytest.param(
            "a-suite.ts", "export default [\n\t\t{ a: ;", "SyntaxError: Expression expected", (2, 8), id="tabs"
        ),
        pytest.param("a-suite.ts", "export default [", "SyntaxError: Expression expected", (1, 17), id="the end"),
        pytest.param(
            "a-suite.mjs", "export default [\n  { a: ;", "SyntaxError: Unexpected token ';'", (2, 8), id="mjs"
        ),
        pytest.param(
            "a-suite.cjs", "module.exports = [\n\t{ a: ;", "SyntaxError: Unexpected token ';'", (2, 7), id="cjs"
        ),
        pytest.param(
            "a-suite.ts",
            "\nexport enum X { A }",
            "SyntaxError: TypeScript enum is not supported in strip-only mode",
            (2, 8),
            id="enum",
        ),
        pytest.param("a-suite.ts", "\nthrow new RangeError('no');", "RangeError: no", (2, 7), id="throws"),
        pytest.param(
            "a-suite.ts",
            "\nimport 'nothing-like-it';",
            "Cannot find package 'nothing-like-it'",
            (2, 8),
            id="missing package",
        ),
        pytest.param(
            "a-suite.cjs", "\nrequire('./rules')", "Cannot find module './rules'", (2, 9), id="missing module"
        ),
        pytest.param(
            "a-suite.ts",
            "import { assert, Case } from 'skillgym';",
            "SyntaxError: The requested module 'skillgym' does not provide an export named 'Case'",
            (1, 18),
            id="a type imported as a value",
        ),
        pytest.param(
            "a-suite.ts",
            "await new Promise(() => {});",
            "Deadlock: it awaits a promise that nothing can resolve any more",
            (None, None),
            id="never resolves",
        ),
        pytest.param(
            "a-suite.mjs", "export const x = 1", "the file has no default export", (None, None), id="no default"
        ),
        pytest.param("a-suite.mjs", "export default 5", "the default export is 5", (None, None), id="number"),
        pytest.param("a-suite.mjs", "export default null", "the default export is null", (None, None), id="null"),
        pytest.param("a-suite.mjs", "export default new Map()", "the default export is a Map", (None, None), id="Map"),
        pytest.param(
            "a-suite.mjs",
            "export default { prompt: '', assert() {} }",
            "the default export is a single case",
            (None, None),
            id="single case",
        ),
    ],
)
def test_a_file_that_cannot_be_loaded_says_why_and_where(tmp_path, name, body, message, place):
    problem = refused(tmp_path, written(tmp_path, body, name=name, head=""))
    assert (problem.message, problem.location) == (message, Location(path=name, line=place[0], column=place[1]))


def test_a_syntax_error_in_a_module_of_the_suite_is_shown_there(tmp_path):
    written(tmp_path, "x =\n  ;\n", name="bench/rules.ts", head="")
    problem = refused(tmp_path, written(tmp_path, 'import "./rules.ts";\n'))
    assert str(problem) == "bench/rules.ts:2:3: SyntaxError: Expression expected"


@pytest.mark.parametrize(
    ("body", "remedy"),
    [
        pytest.param("import './rules';", "check the path; Node wants the ending, too, as in ./rules.ts", id="ending"),
        pytest.param("import { Suite } from 'skillgym';", "import a type with `type`", id="type"),
        pytest.param("import 'nothing-like-it';", "install the package beside the suite", id="package"),
        pytest.param(
            "namespace X { export const a = 1 }", "Node erases types and changes nothing else", id="namespace"
        ),
    ],
)
def test_what_to_do_about_a_file_that_cannot_be_loaded(tmp_path, body, remedy):
    assert refused(tmp_path, written(tmp_path, body)).remedy.startswith(remedy)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "message"),
    [
        pytest.param(
            "while (true);",
            "the suite did not answer within 1 s while it was imported",
            id="hangs",
            marks=pytest.mark.timed,
        ),
        pytest.param(
            "process.exit(7)", "the suite ended its process with exit code 7 while it was imported", id="exits"
        ),
    ],
)
def test_a_suite_that_ends_or_hangs_while_it_is_imported_is_refused(tmp_path, body, message):
    limit = {"call_limit": 1.0} if "within 1 s" in message else {}
    problem = refused(tmp_path, written(tmp_path, body), **limit)
    assert (problem.message, problem.location) == (message, at())


# --- which Node ----------------------------------------------------------------------------------------


def fake_node(folder, version):
    program = folder / "node"
    program.write_text(f"#!/bin/sh\necho {version}\n")
    program.chmod(0o755)
    return os.fspath(program)


def host_program(environment, *names):
    cancelled = Cancellation()
    try:
        with ProcessLauncher(environment=environment, cancelled=cancelled) as processes:
            return Node(processes, *names).program
    finally:
        cancelled.close()


def test_a_new_enough_node_on_the_path_is_used(tmp_path):
    program = fake_node(tmp_path, "v22.18.0")
    assert host_program({"PATH": f"{tmp_path}:/bin"}) == (program, *MEMORY_OPTIONS)


def test_a_node_that_refuses_our_flags_goes_without(tmp_path):
    program = tmp_path / "node"
    program.write_text('#!/bin/sh\n[ "$1" = --version ] && echo v23.0.0\n')
    program.chmod(0o755)
    assert host_program({"PATH": f"{tmp_path}:/bin"}) == (os.fspath(program),)


@pytest.mark.parametrize("version", ["v22.17.9", "v9.0.0", "nonsense"])
def test_the_package_stands_in_for_a_node_that_is_too_old(tmp_path, version):
    fake_node(tmp_path, version)
    assert host_program({"PATH": f"{tmp_path}:/bin"})[0].startswith(sys.prefix)


def test_without_any_node_the_error_names_the_extra(tmp_path):
    fake_node(tmp_path, "v20.1.0")
    with pytest.raises(ConfigError) as caught:
        host_program({"PATH": f"{tmp_path}:/bin"}, None, "no_such_package")
    assert str(caught.value) == (
        f"suites in TypeScript need Node.js 22.18 or newer: {tmp_path}/node is version 20.1.0; "
        "install 'skillgym-action[typescript]', which brings one, or name one in SKILLGYM_NODE"
    )


def test_nothing_stands_in_for_a_node_that_is_named(tmp_path):
    old = fake_node(tmp_path, "v20.1.0")
    problem = refused(tmp_path, written(tmp_path, one_case("")), node=old)
    assert problem.message.endswith(f": SKILLGYM_NODE={old} is version 20.1.0")
    assert problem.location == at()
    assert refused(tmp_path, written(tmp_path, ""), node="/nowhere/node").message.endswith("is no Node.js")
