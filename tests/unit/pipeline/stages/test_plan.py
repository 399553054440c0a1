"""The plan: suites x runners, filtered, in order, cut into shards."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from skillgym_action.model.arm import Arm
from skillgym_action.model.errors import Location, Problem, UsageError
from skillgym_action.model.keyword_expression import KeywordExpression
from skillgym_action.model.runner import Runner
from skillgym_action.model.session import AgentConfig
from skillgym_action.model.suite import BenchmarkCase, BenchmarkSuite, Invalid
from skillgym_action.pipeline.stages.plan import NO_SUITE, plan
from skillgym_action.settings.slices import PlanOptions
from skillgym_action.text.escaping import path_key


def case(case_id: str, *tags: str, **settings) -> BenchmarkCase:
    location = Location(path="bench/core.json", line=1)
    return BenchmarkCase(id=case_id, prompt="p", location=location, assertions=(), tags=tags, **settings)


def suite(
    *cases: BenchmarkCase, name: str = "core", invalid: tuple[str | None, ...] = (), **settings
) -> BenchmarkSuite:
    bad = tuple(Invalid(problem=Problem(message="bad"), case_id=case_id) for case_id in invalid)
    path = f"bench/{name}.json"
    return BenchmarkSuite(
        path=path, file=Path("/repo", path), name=name, format="x-bench", cases=cases, invalid=bad, **settings
    )


def runner(name: str, model: str | None = None) -> Runner:
    return Runner(id=name, path_key=path_key(name), agent=AgentConfig(type="command", model=model))


CLAUDE, CODEX = runner("claude"), runner("codex")


def names(suites, runners=(CLAUDE,), **options):
    todo = plan(suites, runners, PlanOptions(**options))
    return [f"{one.case.id}@{one.runner.id}" for one in todo.executions]


def unrunnable(suites, **options):
    todo = plan(suites, (CLAUDE,), PlanOptions(**options))
    return [one.invalid.case_id for one in todo.unrunnable]


# --- order ------------------------------------------------------------------------------------------


def test_cases_come_case_by_case_and_runner_by_runner():
    suites = (suite(case("a"), case("b")), suite(case("c"), name="other"))
    assert names(suites, (CLAUDE, CODEX)) == [
        *("a@claude", "a@codex", "b@claude", "b@codex"),
        *("c@claude", "c@codex"),
    ]


def test_invalid_cases_have_an_index_and_no_runner():
    todo = plan((suite(case("a"), invalid=("bad",)), suite(case("b"))), (CLAUDE, CODEX), PlanOptions())
    assert [(one.index, one.invalid.case_id) for one in todo.unrunnable] == [(0, "bad")]
    assert [one.index for one in todo.executions] == [1, 2, 3, 4]


# --- filters ----------------------------------------------------------------------------------------

TAGGED = (suite(case("login-ok", "smoke"), case("login-bad", "smoke", "slow"), case("logout")),)


@pytest.mark.parametrize(
    ("options", "left"),
    [
        pytest.param({}, ["login-ok", "login-bad", "logout"], id="no filter"),
        pytest.param({"cases": ("login-*",)}, ["login-ok", "login-bad"], id="a glob"),
        pytest.param({"match": KeywordExpression("log and not ok")}, ["login-bad", "logout"], id="words"),
        pytest.param({"match": KeywordExpression("out"), "cases": ("login-*",)}, [], id="words and a glob"),
        pytest.param(
            {"cases": ("logout", "login-ok")}, ["login-ok", "logout"], id="ids are alternatives, in plan order"
        ),
        pytest.param({"cases": ("LOGOUT",)}, [], id="case matters"),
        pytest.param({"tags": ("smoke",)}, ["login-ok", "login-bad"], id="a tag"),
        pytest.param({"tags": ("slow", "other")}, ["login-bad"], id="tags are alternatives"),
        pytest.param({"tags": ("smoke",), "cases": ("*bad",)}, ["login-bad"], id="both must match"),
        pytest.param({"tags": ("s*",)}, ["login-ok", "login-bad"], id="a glob of tags"),
        pytest.param({"tags": ("nope",)}, [], id="nothing is left"),
    ],
)
def test_filters_leave(options, left):
    assert names(TAGGED, **options) == [f"{case_id}@claude" for case_id in left]


@pytest.mark.parametrize(
    ("options", "warnings", "nothing"),
    [
        pytest.param({}, [], None, id="no filter"),
        pytest.param({"cases": ("logout", "login-*"), "tags": ()}, [], None, id="every word matches"),
        pytest.param(
            {"cases": ("logout", "logn-ok")},
            ["unknown case 'logn-ok'; did you mean 'login-ok'?"],
            None,
            id="one of two ids",
        ),
        pytest.param(
            {"cases": ("logout", "logn-*")},
            ["--case 'logn-*' matches none of the 3 cases; did you mean 'login-ok'?"],
            None,
            id="one of two patterns",
        ),
        pytest.param(
            {"tags": ("smoke", "quick")},
            ["unknown tag 'quick'; known: smoke, slow"],
            None,
            id="one of two tags",
        ),
        pytest.param(
            {"cases": ("nosuch",)},
            [],
            "unknown case 'nosuch'; known: login-ok, login-bad, logout",
            id="nothing is left",
        ),
        pytest.param(
            {"cases": ("logout",), "tags": ("slow",)},
            [],
            "the combination of --case logout --tag slow matches none of the 3 cases",
            id="each word matches, but no case both",
        ),
    ],
)
def test_a_filter_word_that_selects_nothing_is_reported(options, warnings, nothing):
    made = plan(TAGGED, (CLAUDE,), PlanOptions(**options))
    assert [str(one) for one in made.warnings] == warnings
    assert (str(made.nothing_selected) if made.nothing_selected else None) == nothing


@pytest.mark.parametrize(
    ("patterns", "options", "warnings"),
    [
        pytest.param(("claude",), {}, [], id="a runner"),
        pytest.param(("codex",), {"configured": ("claude", "codex")}, [], id="one that is not selected"),
        pytest.param(
            ("claud", "x"),
            {},
            ["bench/core.json:1: a is not run: no runner matches its runners claud, x; did you mean 'claude'?"],
            id="a misspelt one, once for all cases",
        ),
        pytest.param(("claud",), {"only": frozenset()}, [], id="stored sessions"),
    ],
)
def test_cases_of_runners_that_do_not_exist_are_reported(patterns, options, warnings):
    suites = (suite(case("a", runners=patterns), case("b", runners=patterns), case("c")),)
    made = plan(suites, (CLAUDE,), PlanOptions(**options))
    assert [str(one) for one in made.warnings] == warnings


def test_filters_are_compared_with_all_cases_not_with_those_of_a_shard():
    for shard in ((1, 3), (2, 3), (3, 3)):
        made = plan(TAGGED, (CLAUDE,), PlanOptions(cases=("logout",), shard=shard))
        assert (made.warnings, made.nothing_selected) == ((), None)


def test_an_invalid_case_can_be_selected_and_an_invalid_suite_always_is():
    assert plan((suite(case("a"), invalid=("bad",)),), (CLAUDE,), PlanOptions(cases=("bad",))).nothing_selected is None
    made = plan((suite(case("a"), invalid=(None,)),), (CLAUDE,), PlanOptions(cases=("x",)))
    assert (len(made.warnings), made.nothing_selected, len(made.unrunnable)) == (1, None, 1)


def test_of_a_single_case_the_message_says_so():
    made = plan((suite(case("a")),), (CLAUDE,), PlanOptions(cases=("b*",)))
    assert str(made.nothing_selected) == "--case 'b*' does not match the only case; known: a"


def test_all_words_of_filters_that_select_nothing_are_named():
    made = plan((suite(case("a")),), (CLAUDE,), PlanOptions(cases=("b", "c/*"), tags=("t",)))
    assert str(made.nothing_selected) == (
        "unknown case 'b'; known: a; --case 'c/*' does not match the only case; known: a; "
        "unknown tag 't'; no case has a tag"
    )


def test_without_any_case_no_filter_is_to_blame():
    made = plan((), (CLAUDE,), PlanOptions(cases=("a",)))
    assert (made.warnings, made.nothing_selected) == ((), NO_SUITE)


def test_many_ids_are_not_all_listed():
    cases = [case(f"case-{number}") for number in range(12)]
    made = plan((suite(*cases),), (CLAUDE,), PlanOptions(cases=("zzz",)))
    assert str(made.nothing_selected).endswith("case-6, case-7 and 4 more")


@pytest.mark.parametrize(
    ("pattern", "left"),
    [
        pytest.param("*", ["logout"], id="a star stops at a slash"),
        pytest.param("login/*", ["login/ok", "login/bad"], id="one part"),
        pytest.param("**", ["login/ok", "login/bad", "login/as/guest", "logout"], id="two stars do not"),
        pytest.param("login/**", ["login/ok", "login/bad", "login/as/guest"], id="all below"),
        pytest.param("login?ok", [], id="nor is a slash one character"),
    ],
)
def test_a_slash_separates_parts_of_ids_too(pattern, left):
    cases = map(case, ("login/ok", "login/bad", "login/as/guest", "logout"))
    assert names((suite(*cases),), cases=(pattern,)) == [f"{case_id}@claude" for case_id in left]


@pytest.mark.parametrize("case_id", ["[draft] fix", "what?", "a*b"])
def test_an_id_full_of_glob_signs_selects_itself(case_id):
    assert names((suite(case(case_id), case("other")),), cases=(case_id,))[0] == f"{case_id}@claude"


@pytest.mark.parametrize(
    ("patterns", "who"),
    [
        pytest.param((), ["a@claude", "a@codex"], id="no wish: all runners"),
        pytest.param(("codex",), ["a@codex"], id="an id"),
        pytest.param(("c*x", "claude"), ["a@claude", "a@codex"], id="globs"),
        pytest.param(("gemini",), [], id="a runner that is not there"),
    ],
)
def test_a_case_may_name_its_runners(patterns, who):
    assert names((suite(case("a", runners=patterns)),), (CLAUDE, CODEX)) == who


@pytest.mark.parametrize(
    ("options", "left"),
    [
        pytest.param({}, ["bad", None], id="no filter"),
        pytest.param({"cases": ("b*",)}, ["bad", None], id="a glob that matches"),
        pytest.param({"cases": ("x",)}, [None], id="another case is asked for"),
        pytest.param({"tags": ("smoke",)}, [None], id="its tags are not known"),
    ],
)
def test_no_filter_hides_an_unreadable_suite(options, left):
    assert unrunnable((suite(invalid=("bad", None)),), **options) == left


# --- shards -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shards", "parts"),
    [
        pytest.param(1, ["abcde"], id="one"),
        pytest.param(2, ["ace", "bd"], id="two"),
        pytest.param(7, ["a", "b", "c", "d", "e", "", ""], id="more than there are cases"),
    ],
)
def test_shards_share_the_plan_without_loss_or_overlap(shards, parts):
    suites = (suite(*map(case, "abcde")),)
    found = [names(suites, shard=(number, shards)) for number in range(1, shards + 1)]
    assert found == [[f"{letter}@claude" for letter in part] for part in parts]


@pytest.mark.parametrize(
    ("other", "same"),
    [
        pytest.param({}, True, id="equal"),
        pytest.param({"cases": ("[abc]",)}, True, id="a filter that leaves all"),
        pytest.param({"cases": ("[ab]",)}, False, id="fewer cases"),
        pytest.param({"suites": (suite(case("a"), case("b"), case("d")),)}, False, id="another case"),
        pytest.param({"suites": (suite(case("b"), case("a"), case("c")),)}, False, id="another order"),
        pytest.param({"suites": (suite(case("a"), case("b"), case("c", repetitions=2)),)}, False, id="repetitions"),
        pytest.param({"suites": (suite(case("a"), case("b"), invalid=("c",)),)}, False, id="an invalid case"),
        pytest.param({"runners": (CODEX,)}, False, id="another runner"),
    ],
)
def test_shards_know_whether_they_are_of_one_plan(other, same):
    usual = (suite(case("a"), case("b"), case("c")),)

    def contents(number, suites=usual, runners=(CLAUDE,), **options):
        return plan(suites, runners, PlanOptions(shard=(number, 2), **options)).all_shards

    assert (contents(1) == contents(2, **other)) is same
    assert contents(1).executions == 3


def test_a_whole_plan_has_no_other_shards():
    assert plan((suite(case("a")),), (CLAUDE,), PlanOptions()).all_shards is None


def test_an_invalid_case_is_reported_by_one_shard_only():
    suites = (suite(case("a"), invalid=("bad", None)),)
    assert [unrunnable(suites, shard=(number, 3)) for number in (1, 2, 3)] == [["bad"], [None], []]


# --- an execution's settings ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("of_option", "of_case", "of_suite", "timeout"),
    [
        pytest.param(5.0, 6.0, 7.0, 5.0, id="the option wins"),
        pytest.param(None, 6.0, 7.0, 6.0, id="then the case"),
        pytest.param(None, None, 7.0, 7.0, id="then the suite"),
        pytest.param(None, None, None, 8.0, id="then the configuration"),
    ],
)
def test_the_time_limit(of_option, of_case, of_suite, timeout):
    suites = (suite(case("a", timeout=of_case), default_timeout=of_suite),)
    (execution,) = plan(suites, (CLAUDE,), PlanOptions(timeout=of_option, default_timeout=8.0)).executions
    assert execution.timeout == timeout


@pytest.mark.parametrize(
    ("of_option", "of_case", "of_runner", "model"),
    [
        pytest.param("o", "c", "r", "o", id="the option wins"),
        pytest.param(None, "c", "r", "c", id="then the case"),
        pytest.param(None, None, "r", "r", id="then the runner"),
        pytest.param(None, None, None, None, id="else the agent's own"),
    ],
)
def test_the_model(of_option, of_case, of_runner, model):
    suites = (suite(case("a", model=of_case)),)
    (execution,) = plan(suites, (runner("r", of_runner),), PlanOptions(model=of_option)).executions
    assert execution.model == model


def test_artifact_folders_never_collide():
    ids = ["a b", "a/b", "a-b", "a--b", "..", "é", "e", "a" * 300, "a" * 301]
    todo = plan((suite(*map(case, ids)),), (CLAUDE, runner("claude:opus")), PlanOptions())
    folders = [one.directory for one in todo.executions]
    assert len(set(folders)) == len(ids) * 2
    for folder in folders:
        parts = folder.split("/")
        assert len(parts) == 3
        assert not {"", ".", ".."} & set(parts)
        assert max(map(len, parts)) < 100


ALIKE = ["fix", "Fix", "FIX"]


def test_artifact_folders_differ_without_regard_to_case():
    suites = tuple(suite(*map(case, ALIKE), name=name) for name in ("core", "CORE", "results.json", "Results.JSON"))
    folders = [one.directory for one in plan(suites, tuple(map(runner, ALIKE)), PlanOptions()).executions]
    assert len({folder.casefold() for folder in folders}) == len(folders) == 4 * 3 * 3


def test_arms_of_a_case_have_folders_of_their_own_without_regard_to_case():
    one = suite(case("a"), case("A"), arms=tuple(Arm(name=name) for name in ("with", "WITH")))
    folders = [one.directory for one in plan((one,), (CLAUDE,), PlanOptions()).executions]
    assert len({folder.casefold() for folder in folders}) == len(folders) == 4


def test_an_ordinary_id_is_its_folder():
    (execution,) = plan((suite(case("fix-login_2.0")),), (CLAUDE,), PlanOptions()).executions
    assert execution.directory == "core/fix-login_2.0/claude"


def test_folders_differ_without_regard_to_case_whatever_is_selected():
    suites = (suite(case("Login"), case("login"), case("Logout"), name="EVAL"), suite(case("a"), name="Core"))
    every = {one.title: one.directory for one in plan(suites, (CLAUDE,), PlanOptions()).executions}
    assert [directory.removesuffix("/claude") for directory in every.values()] == [
        f"EVAL/{path_key('Login')}",
        "EVAL/login",
        "EVAL/Logout",
        "Core/a",
    ]
    for options in (PlanOptions(cases=("Login",)), PlanOptions(shard=(2, 3))):
        some = plan(suites, (CLAUDE,), options).executions
        assert some
        assert [one.directory for one in some] == [every[one.title] for one in some]


def test_the_budget_is_the_case_s_own():
    cases = case("a", budget=1.5), case("b")
    todo = plan((suite(*cases),), (CLAUDE,), PlanOptions())
    assert [one.budget for one in todo.executions] == [1.5, None]


def test_the_plan_keeps_suites_and_runners():
    suites = (replace(TAGGED[0], cases=()),)
    todo = plan(suites, (CLAUDE,), PlanOptions())
    assert (todo.suites, todo.runners, todo.executions) == (suites, (CLAUDE,), ())


# --- what failed before -------------------------------------------------------------------------------

PATH = "bench/core.json"


def test_only_the_executions_that_failed_are_planned():
    failed = frozenset({(PATH, "login-bad", "codex"), ("bench/other.json", "logout", "claude")})
    assert names(TAGGED, (CLAUDE, CODEX), last_failed=failed) == ["login-bad@codex"]


def test_what_could_not_be_loaded_before_is_planned_with_all_its_executions():
    for failed in ((PATH, "login-bad", "*"), (PATH, "*", "*")):
        planned = names(TAGGED, (CLAUDE, CODEX), last_failed=frozenset({failed}))
        assert {"login-bad@claude", "login-bad@codex"} <= set(planned)
        assert len(planned) == (2 if failed[1] == "login-bad" else 6)


def test_with_nothing_left_of_what_failed_nothing_else_is_run():
    with pytest.raises(UsageError, match="the last run has 1 execution to run again, and none is selected now"):
        names(TAGGED, last_failed=frozenset({(PATH, "gone", "claude")}))


def test_an_expression_that_selects_nothing_is_named():
    made = plan(TAGGED, (CLAUDE,), PlanOptions(match=KeywordExpression("sign and up")))
    assert str(made.nothing_selected) == (
        "--match 'sign and up' matches none of the 3 cases; known: login-ok, login-bad, logout"
    )
