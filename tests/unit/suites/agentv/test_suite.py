"""AgentV suites: found, read, every form of a test understood, every mistake reported with its place."""

from __future__ import annotations

import json

import pytest

from agentv_files import CONTAINS, case, one_case, problems, read, read_tests, suite_text, warnings
from scratch import written
from skillgym_action.model.errors import SuiteError
from skillgym_action.model.suite import WorkspaceSpec
from skillgym_action.suites.agentv import suite as agentv

# --- is it one? -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "head", "accepted"),
    [
        pytest.param("EVAL.yaml", "", True, id="EVAL.yaml"),
        pytest.param("a/eval.yaml", "", True, id="eval.yaml, anywhere"),
        pytest.param("a/Eval.YAML", "", True, id="in any case"),
        pytest.param("a/eval.yml", "", True, id="yml"),
        pytest.param("a/shop.eval.yaml", "", True, id="*.eval.yaml"),
        pytest.param("a/Shop.EVAL.yml", "", True, id="*.eval.yml in any case"),
        pytest.param(".hidden/eval.yaml", "", True, id="a hidden folder"),
        pytest.param("a/case.yaml", "", False, id="a case is no suite"),
        pytest.param("a/targets.yaml", "", False, id="targets are no suite"),
        pytest.param("a/evaluation.yaml", "", False, id="another name"),
        pytest.param("a/myeval.yaml", "", False, id="a name that ends like it"),
        pytest.param("a/tests.jsonl", "", False, id="lines have to be named"),
        pytest.param("node_modules/x/eval.yaml", "", False, id="a package's"),
        pytest.param("a/dist/eval.yaml", "", False, id="what was built"),
        pytest.param("a/.agentv/results/r/task/EVAL.yaml", "", False, id="a copy among AgentV's results"),
        pytest.param("a/evals.json", '{"evals": []}', True, id="a skill's evals"),
        pytest.param("a/shop.evals.json", '\ufeff{"evals": [1]}', True, id="*.evals.json"),
        pytest.param("a/evals.json", '{"evals": {}}', False, id="another json"),
        pytest.param("a/evals.json", '{"evals": [', True, id="broken, or cut off"),
        pytest.param("a/evals.json", "[", False, id="broken, and nothing like it"),
    ],
)
def test_what_looks_like_a_suite(path, head, accepted):
    assert agentv.accepts(path, head) is accepted


@pytest.mark.parametrize(
    ("path", "text", "name"),
    [
        pytest.param("e/EVAL.yaml", suite_text(), "EVAL", id="the file's name"),
        pytest.param("e/dataset.eval.yaml", suite_text(), "dataset", id="without the ending"),
        pytest.param("e/dataset.yml", suite_text(), "dataset", id="any yaml that is named"),
        pytest.param("e/x.eval.yaml", suite_text(name=" shop "), "shop", id="its own name"),
        pytest.param("e/x.jsonl", json.dumps(case()), "x", id="lines"),
        pytest.param(
            "e/evals.json",
            '{"skill_name": "pdf", "evals": [{"id": 1, "prompt": "p", "expected_output": "x"}]}',
            "pdf",
            id="a skill's",
        ),
    ],
)
def test_the_name_of_a_suite(tmp_path, path, text, name):
    suite = read(tmp_path, {path: text}, path)
    assert (suite.name, suite.format, len(suite.cases), suite.invalid) == (name, "agentv", 1, ())


# --- tests from folders -----------------------------------------------------------------------------

FOLDERS = {"evals/EVAL.yaml": "tests: ./cases/"}


def test_a_folder_of_cases_is_sorted_by_code_units(tmp_path):
    names = ["b-two", "a-one", "Z-upper", ".hidden", "10", "9", "\uffee", "\U0001f600"]
    suite = read(tmp_path, FOLDERS | {f"evals/cases/{name}/case.yaml": case(None) for name in names})
    assert [one.id for one in suite.cases] == [
        ".hidden",
        "10",
        "9",
        "Z-upper",
        "a-one",
        "b-two",
        "\U0001f600",
        "\uffee",
    ]
    assert suite.warnings == ()


@pytest.mark.parametrize(
    ("written_as", "names"),
    [
        pytest.param("./cases/", ["a"], id="with a slash at the end"),
        pytest.param("cases", ["a"], id="without"),
        pytest.param("../evals/cases", ["a"], id="from elsewhere"),
        pytest.param("{root}/evals/cases", ["a"], id="absolute"),
    ],
)
def test_the_path_of_a_folder(tmp_path, written_as, names):
    written_as = written_as.format(root=tmp_path)
    suite = read(tmp_path, {"evals/EVAL.yaml": {"tests": written_as}, "evals/cases/a/case.yaml": case(None)})
    assert [one.id for one in suite.cases] == names


@pytest.mark.parametrize(
    ("given", "name"),
    [
        pytest.param({}, "folder", id="none: the folder's name"),
        pytest.param({"id": None}, "folder", id="null: the folder's name"),
        pytest.param({"id": "own"}, "own", id="its own"),
    ],
)
def test_the_id_of_a_case_in_a_folder(tmp_path, given, name):
    suite = read(tmp_path, FOLDERS | {"evals/cases/folder/case.yaml": case(None, **given)})
    assert [one.id for one in suite.cases] == [name]


def test_what_in_a_folder_of_cases_is_no_case(tmp_path):
    files = {
        "evals/cases/one/case.yml": case(None),
        "evals/cases/both/case.yaml": case("from-yaml"),
        "evals/cases/both/case.yml": case("from-yml"),
        "evals/cases/case.yaml": case("in-the-root"),
        "evals/cases/notes.md": "x",
        "evals/cases/empty/.keep": "",
        "evals/cases/nested/inner/case.yaml": case(None),
    }
    suite = read(tmp_path, FOLDERS | files)
    assert [one.id for one in suite.cases] == ["from-yaml", "one"]
    assert warnings(suite) == [
        "evals/cases/both/case.yml: is not read, since there is evals/cases/both/case.yaml; keep one of them",
        "evals/cases/case.yaml: is not read: a case is a folder with a case.yaml; move it to a folder of its own",
        "evals/cases/empty: skipped: the folder empty has no case.yaml; add case.yaml",
        (
            "evals/cases/nested: skipped: the folder nested has no case.yaml: folders inside of it are not searched;"
            " add case.yaml"
        ),
    ]


LINKED = "linked is a symbolic link, which is not followed; copy the folder, or remove the link"
MOVED = "moved is a symbolic link that leads to nothing; correct the link, or remove it"


def test_links_to_nothing_in_a_folder_of_cases_are_named(tmp_path):
    (tmp_path / "evals/cases").mkdir(parents=True)
    (tmp_path / "evals/cases/moved").symlink_to("../../shared/moved")
    (tmp_path / "evals/cases/round").symlink_to("round")
    (tmp_path / "evals/cases/one.yaml").symlink_to("moved.yaml")
    suite = read(tmp_path, FOLDERS | {"evals/cases/one/case.yaml": case(None), "evals/cases/a.yaml": "{input: x"})
    assert [one.id for one in suite.cases] == ["one"]
    assert warnings(suite) == [
        "evals/cases/a.yaml: is not read: a case is a folder with a case.yaml; move it to a folder of its own",
        f"evals/cases/moved: skipped: {MOVED}",
        f"evals/cases/one.yaml: skipped: {MOVED.replace('moved', 'one.yaml')}",
        f"evals/cases/round: skipped: {MOVED.replace('moved', 'round')}",
    ]


def test_files_beside_the_folders_of_cases_that_are_no_cases_are_not_named(tmp_path):
    files = {"evals/cases/one/case.yaml": case(None), "evals/cases/notes.yaml": "shared:\n  input: x\n"}
    files |= {"evals/cases/large.yaml": b"input:\xff\n", "evals/cases/README.md": "input: x\n"}
    assert warnings(read(tmp_path, FOLDERS | files)) == []


@pytest.mark.parametrize("pattern", ["cases/*/case.yaml", "cases/**/*.yaml", "./cases/{moved,linked,one}/case.yaml"])
def test_links_on_the_way_of_a_pattern_are_named(tmp_path, pattern):
    written(tmp_path, {"elsewhere/case.yaml": json.dumps(case("linked")), "other/x.txt": "x"})
    (tmp_path / "evals/cases").mkdir(parents=True)
    for name, target in {"linked": "elsewhere", "moved": "gone", "other": "other"}.items():
        (tmp_path / f"evals/cases/{name}").symlink_to(tmp_path / target)
    suite = read(tmp_path, {"evals/EVAL.yaml": {"tests": [f"file://{pattern}"]}, "evals/cases/one/case.yaml": case()})
    assert [one.id for one in suite.cases] == ["one"]
    assert sorted(warnings(suite)) == [
        f"evals/cases/linked: skipped: {LINKED}",
        f"evals/cases/moved: skipped: {MOVED}",
    ]


TWINS = [
    ("targets.yaml", "targets.yml", "evals/EVAL.yaml"),
    ("evals/targets.yml", "evals/.agentv/targets.yaml", "evals/EVAL.yaml"),
    ("evals/x.yaml", "evals/x.yml", "evals/x.jsonl"),
]


@pytest.mark.parametrize(("first", "second", "path"), TWINS)
def test_the_second_of_two_files_of_which_one_is_read_is_named(tmp_path, first, second, path):
    content = "name: x\n" if first.endswith("x.yaml") else "targets: [{name: default, provider: claude}]\n"
    files = {path: json.dumps(case()) if path.endswith("l") and "json" in path else suite_text()}
    suite = read(tmp_path, files | {first: content, second: content}, path)
    assert warnings(suite) == [f"{second}: is not read, since there is {first}; keep one of them"]
    assert warnings(read(tmp_path / "alone", files | {second: content}, path)) == []


IDS = [("1.10", "1.10"), ("1.1", "1.1"), ("0x10", "0x10"), ("007", "007"), ("1e3", "1e3"), ("True", "True")]


def test_ids_that_are_no_texts_are_what_the_file_says(tmp_path):
    tests = "".join(f"- {{id: {text}, input: x, assertions: [{{type: contains, value: x}}]}}\n" for text, _ in IDS)
    suite = read(tmp_path, {"evals/EVAL.yaml": f"tests:\n{tests}"})
    assert [one.id for one in suite.cases] == [name for _, name in IDS]
    assert [str(one).partition(": ")[2] for one in suite.warnings] == [
        f'tests[{number}].id: the id {name} is not text; write id: "{name}"' for number, (_, name) in enumerate(IDS)
    ]


@pytest.mark.parametrize("name", [".hidden", "node_modules", "__pycache__", "dist", "a b"])
def test_no_name_of_a_folder_keeps_it_from_being_a_case(tmp_path, name):
    suite = read(tmp_path, FOLDERS | {f"evals/cases/{name}/case.yaml": case(None)})
    assert ([one.id for one in suite.cases], suite.warnings) == ([name], ())


def test_a_folder_behind_a_link_is_a_case_too(tmp_path):
    written(tmp_path, {"elsewhere/case.yaml": json.dumps(case(None))})
    (tmp_path / "evals/cases").mkdir(parents=True)
    (tmp_path / "evals/cases/linked").symlink_to(tmp_path / "elsewhere")
    assert [one.id for one in read(tmp_path, FOLDERS).cases] == ["linked"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param("", "evals/cases/b/case.yaml:1: must be a mapping of keys to values", id="empty"),
        pytest.param("- a", "evals/cases/b/case.yaml:1:1: must be a mapping of keys to values", id="a list"),
        pytest.param("a: b: c", "evals/cases/b/case.yaml:1:5: not YAML: mapping values are not allowed", id="no YAML"),
        pytest.param(b"\xff", "evals/cases/b/case.yaml: not UTF-8 at byte 0; save the file as UTF-8", id="not UTF-8"),
        pytest.param("criteria: x", "evals/cases/b/case.yaml:1:1: the test has no input", id="no input"),
        pytest.param(
            "input: x",
            "1:1: nothing says when the test is passed; add criteria, expected_output or asse",
            id="nothing to judge by",
        ),
        pytest.param(
            "id: ''\ninput: x\ncriteria: y",
            "1:1: the test has no id; give it one: id: fix-null-check",
            id="an empty id",
        ),
        pytest.param("input: 7\ncriteria: y", "1:1: input: the input has no message", id="an input that is a number"),
        pytest.param("input: ' '\ncriteria: y", "1:1: the input is empty", id="an empty input"),
        pytest.param(
            'input: "a\\0b"\ncriteria: y',
            "contains a character that cannot be passed to a program: U+0000",
            id="a character no program takes",
        ),
        pytest.param(
            "input: x\nmode: conversation\nturns: []\ncriteria: y",
            "the conversation has no turns",
            id="a conversation without turns",
        ),
        pytest.param(
            "input: x\nassertions: [{type: contains}]",
            "evals/cases/b/case.yaml:2:1: assertions[0]",
            id="an assertion that says nothing",
        ),
        pytest.param(
            "input: x\nassertions: {a: b}",
            "evals/cases/b/case.yaml:2:1: assertions: must be a list",
            id="assertions that are no list",
        ),
        pytest.param(
            "input: x\ncriteria: y\ndepends_on: [nope]",
            "depends on 'nope', which is not a test of this suite",
            id="depends on nothing there is",
        ),
        pytest.param("input: x\ncriteria: y\ndepends_on: [b]", "depends on itself: b -> b", id="depends on itself"),
        pytest.param(
            "input: x\ncriteria: y\nexpected_fail: yes",
            "3:1: expected_fail: must be true or false",
            id="a word of YAML 1.1",
        ),
        pytest.param(
            "input: x\ncriteria: y\nworkspace: ./nope",
            "3:1: workspace: there is no ./nope",
            id="a workspace that is not there",
        ),
        pytest.param(
            "input: x\ncriteria: y\nexecution: {threshold: 2}",
            "execution.threshold: must be a number, from 0 to 1, not 2",
            id="a threshold above 1",
        ),
    ],
)
def test_a_broken_case_is_reported_with_its_place_and_its_siblings_stay(tmp_path, content, message):
    files = {
        "evals/cases/a/case.yaml": case(None),
        "evals/cases/b/case.yaml": content,
        "evals/cases/c/case.yaml": case(None),
    }
    suite = read(tmp_path, FOLDERS | files)
    assert [one.id for one in suite.cases] == ["a", "c"]
    ((invalid,), (text,)) = suite.invalid, problems(suite)
    assert invalid.case_id == "b"
    assert text.startswith("evals/cases/b/case.yaml")
    assert message in text


def test_a_suite_without_any_case_is_an_error_with_all_its_warnings(tmp_path):
    suite = read(tmp_path, FOLDERS | {"evals/cases/empty/.keep": ""})
    assert problems(suite) == ["evals/EVAL.yaml:1:1: tests: has no tests; a suite without tests checks nothing"]
    assert len(suite.warnings) == 1


# --- tests from files and from the suite itself -----------------------------------------------------


@pytest.mark.parametrize(
    ("tests", "files", "ids"),
    [
        pytest.param("./t.yaml", {"evals/t.yaml": [case("a"), case("b")]}, ["a", "b"], id="yaml"),
        pytest.param("t.yml", {"evals/t.yml": [case("a")]}, ["a"], id="yml"),
        pytest.param("t.yaml", {"evals/t.yaml": {"tests": [case("a")]}}, ["a"], id="yaml with tests in it"),
        pytest.param(
            "t.jsonl",
            {"evals/t.jsonl": f"{json.dumps(case('a'))}\n\n{json.dumps(case('b'))}\n"},
            ["a", "b"],
            id="jsonl",
        ),
        pytest.param(["file://t.yaml", case("z")], {"evals/t.yaml": [case("a")]}, ["a", "z"], id="file:// in a list"),
        pytest.param(
            ["file://t/*.yaml"],
            {"evals/t/2.yaml": [case("b")], "evals/t/1.yaml": [case("a")]},
            ["a", "b"],
            id="a pattern, sorted",
        ),
        pytest.param(
            ["file://t/{1,2}.yaml"],
            {"evals/t/2.yaml": [case("b")], "evals/t/1.yaml": case("a")},
            ["a", "b"],
            id="a pattern with alternatives",
        ),
        pytest.param(["file://t/**/x.yaml"], {"evals/t/a/b/x.yaml": [case("a")]}, ["a"], id="a pattern over folders"),
        pytest.param([case("a"), case("b")], {}, ["a", "b"], id="inline"),
    ],
)
def test_tests_of_files_and_of_the_suite(tmp_path, tests, files, ids):
    suite = read(tmp_path, {"evals/EVAL.yaml": {"tests": tests}, **files})
    assert ([one.id for one in suite.cases], suite.invalid, suite.warnings) == (ids, (), ())


@pytest.mark.parametrize("alias", ["eval_cases", "evalcases"])
def test_old_names_of_tests_are_read_with_a_warning(tmp_path, alias):
    suite = read(tmp_path, {"evals/EVAL.yaml": {alias: [case("a")]}})
    assert [one.id for one in suite.cases] == ["a"]
    assert warnings(suite) == [f"evals/EVAL.yaml:1:2: {alias}: {alias} is an old name; write tests"]


@pytest.mark.parametrize(
    ("tests", "files", "message"),
    [
        pytest.param(
            "./nope.yaml",
            {},
            "1:2: tests: no such file or folder: evals/nope.yaml; name a folder",
            id="a file that is not there",
        ),
        pytest.param(
            "./t.txt", {"evals/t.txt": "a"}, "1:2: tests: tests cannot be read from t.txt", id="another kind of file"
        ),
        pytest.param(7, {}, "1:2: tests: must be a list of tests, or the path of a file or folder", id="a number"),
        pytest.param("t.yaml", {"evals/t.yaml": "a: b: c"}, "evals/t.yaml:1:5: not YAML", id="a file that is no YAML"),
        pytest.param(None, {}, "1:1: has no tests", id="none at all"),
    ],
)
def test_a_suite_whose_tests_cannot_be_found_is_an_error(tmp_path, tests, files, message):
    with pytest.raises(SuiteError) as caught:
        read(tmp_path, {"evals/EVAL.yaml": {"tests": tests}, **files})
    assert message in str(caught.value)


def test_what_is_no_test_is_reported_and_never_vanishes(tmp_path):
    suite = read_tests(tmp_path, "text", 7, case("a"), {"input": "no id", "criteria": "x"})
    assert [(one.case_id, one.problem.message) for one in suite.invalid] == [
        ("tests[0]", "a test cannot be the text 'text'"),
        ("tests[1]", "a test must be a mapping of keys to values"),
        ("tests[3]", "the test has no id"),
    ]
    assert [one.id for one in suite.cases] == ["a"]


def test_a_line_that_is_no_json_is_reported_with_its_number(tmp_path):
    text = f"{json.dumps(case('a'))}\n{{broken\n{json.dumps({'id': 'c'})}\n"
    suite = read(tmp_path, {"evals/x.jsonl": text}, "evals/x.jsonl")
    assert [one.id for one in suite.cases] == ["a"]
    assert [one.case_id for one in suite.invalid] == ["line 2", "c"]
    assert problems(suite)[0].startswith("evals/x.jsonl:2:2: not JSON")
    assert problems(suite)[1].startswith("evals/x.jsonl:3:1: the test has no input")


def test_a_suite_of_lines_has_its_settings_beside_it(tmp_path):
    files = {"evals/x.jsonl": json.dumps(case("a")), "evals/x.yaml": {"name": "shop", "execution": {"threshold": 0.5}}}
    suite = read(tmp_path, files, "evals/x.jsonl")
    assert (suite.name, suite.cases[0].threshold) == ("shop", 0.5)


def test_numbers_are_ids_with_a_warning(tmp_path):
    files = {"evals/EVAL.yaml": "tests:\n- {id: 42, input: x, criteria: y}\n- {id: '${{ N }}', input: x, criteria: y}"}
    suite = read(tmp_path, files, N="7")
    assert [one.id for one in suite.cases] == ["42", "7"]
    assert warnings(suite) == [
        'evals/EVAL.yaml:2:4: tests[0].id: the id 42 is not text; write id: "42"',
        'evals/EVAL.yaml:3:4: tests[1].id: the id 7 is not text; write id: "7"',
    ]


def test_of_two_cases_with_one_id_the_second_is_invalid(tmp_path):
    suite = read_tests(tmp_path, case("a"), case("a"), case("b"))
    assert [one.id for one in suite.cases] == ["a", "b"]
    assert "the id 'a' is already used by the test at evals/EVAL.yaml:1:" in problems(suite)[0]


# --- a skill's evals --------------------------------------------------------------------------------


def test_a_skill_s_evals(tmp_path):
    value = {
        "skill_name": "pdf",
        "evals": [
            {
                "id": 1,
                "prompt": "Read it",
                "expected_output": "text",
                "assertions": ["It reads"],
                "files": ["data/a.pdf"],
            },
            {"id": 2, "prompt": "Read it", "expected_output": "text", "files": ["nope.pdf"]},
        ],
    }
    suite = read(tmp_path, {"skill/evals/evals.json": value, "skill/data/a.pdf": "x"}, "skill/evals/evals.json")
    (one,) = suite.cases
    assert (one.id, one.prompt, one.metadata) == ("1", "Read it", {"skill_name": "pdf"})
    (hook,) = one.workspace.hooks.before_each
    assert hook.argv[-2:] == (str(tmp_path / "skill/data/a.pdf"), "{{workspace_path}}/data/a.pdf")
    assert problems(suite) == [
        "skill/evals/evals.json:1:145: evals[1]: there is no file nope.pdf; files are relative to the skill's folder"
    ]


# --- a case -----------------------------------------------------------------------------------------


def test_a_case_with_everything(tmp_path):
    one = one_case(
        tmp_path,
        input_files=["a.ts"],
        expected_fail=True,
        metadata={"tags": ["slow"], "difficulty": "hard", "list": [2, 3], "deep": {"b": 1}},
        tags=["own"],
        execution={"threshold": 0.5, "targets": ["x"]},
        files={"evals/a.ts": "x"},
        suite={
            "tags": ["shop"],
            "metadata": {"difficulty": "easy", "owner": "me", "list": [1, 2], "deep": {"a": 1}},
            "governance": {"risk": "low"},
        },
    )
    assert (one.id, one.expected_fail, one.threshold, one.runners) == ("one", True, 0.5, ("x",))
    assert one.tags == ("shop", "own", "slow")
    assert one.prompt == f'<file: path="{tmp_path}/evals/a.ts">\n\nDo it'
    assert one.files == (tmp_path / "evals/a.ts",)
    assert one.metadata == {
        "difficulty": "hard",
        "owner": "me",
        "list": [1, 2, 3],
        "deep": {"a": 1, "b": 1},
        "tags": ["slow"],
        "governance": {"risk": "low"},
    }
    assert str(one.location) == "evals/EVAL.yaml:1:12"


@pytest.mark.parametrize(
    ("of_suite", "of_case", "threshold"),
    [
        pytest.param({}, {}, 0.8, id="the default"),
        pytest.param({"threshold": 0.3}, {}, 0.3, id="the suite"),
        pytest.param({"threshold": 0.3}, {"threshold": 1}, 1.0, id="the case"),
        pytest.param({"threshold": 0.3}, {"threshold": 0}, 0.0, id="zero is said, too"),
    ],
)
def test_the_threshold(tmp_path, of_suite, of_case, threshold):
    one = one_case(tmp_path, execution=of_case, suite={"execution": of_suite})
    assert one.threshold == threshold


@pytest.mark.parametrize(
    ("of_suite", "of_case", "place"),
    [
        pytest.param({}, {"execution": {"threshold": 0}}, "tests[0].execution.threshold", id="the case"),
        pytest.param({"execution": {"threshold": 0.0}}, {}, "execution.threshold", id="the suite"),
        pytest.param({"default_test": {"threshold": 0}}, {}, "default_test.threshold", id="AgentV 5"),
    ],
)
def test_a_threshold_that_every_score_reaches_causes_a_warning(tmp_path, of_suite, of_case, place):
    (warning,) = warnings(read_tests(tmp_path, case("a", **of_case), **of_suite))
    assert warning.endswith(
        f"{place}: with 0, a test passes whatever its assertions find; write a number above 0, at most 1"
    )


def test_a_small_threshold_causes_no_warning(tmp_path):
    assert read_tests(tmp_path, case("a", execution={"threshold": 0.01})).warnings == ()


@pytest.mark.parametrize(
    ("keys", "of_suite", "warned"),
    [
        pytest.param({"assertions": []}, {}, True, id="an empty list"),
        pytest.param({"assertions": [" "]}, {}, True, id="a blank criterion"),
        pytest.param(
            {"assertions": [], "execution": {"skip_defaults": True}}, {"assertions": CONTAINS}, True, id="skip"
        ),
        pytest.param({"assertions": []}, {"assertions": CONTAINS}, False, id="assertions of the suite"),
        pytest.param({"assertions": [], "criteria": "polite"}, {}, False, id="criteria"),
        pytest.param({"assertions": [], "expected_output": "yes"}, {}, False, id="expected output"),
    ],
)
def test_a_question_to_the_judge_without_anything_expected_causes_a_warning(tmp_path, keys, of_suite, warned):
    suite = read_tests(tmp_path, case("a", **{"criteria": None} | keys), **of_suite)
    assert [one.id for one in suite.cases] == ["a"]
    message = (
        "tests[0].assertions: no assertion, criteria or expected_output: the judge is asked without knowing what is "
        "expected; add criteria, expected_output or assertions"
    )
    assert [text.partition(" ")[2] for text in warnings(suite)] == [message] * warned


@pytest.mark.parametrize(
    ("keys", "names"),
    [
        pytest.param({}, ["mine", "suite"], id="the case's own first"),
        pytest.param({"execution": {"skip_defaults": True}}, ["mine"], id="skip_defaults"),
        pytest.param({"assertions": []}, ["suite"], id="an empty list"),
        pytest.param({"assertions": None, "criteria": "x"}, ["suite"], id="criteria alone do not count"),
        pytest.param(
            {"assertions": None, "assert": [{"type": "is_json", "name": "old"}]}, ["old", "suite"], id="assert"
        ),
        pytest.param(
            {"assertions": None, "evaluators": [{"type": "is-json", "name": "old"}]}, ["old", "suite"], id="evaluators"
        ),
        pytest.param(
            {"assertions": None, "execution": {"evaluators": [{"type": "is-json", "name": "old"}]}},
            ["old", "suite"],
            id="execution.evaluators",
        ),
    ],
)
def test_assertions_of_case_and_suite(tmp_path, keys, names):
    own = {"assertions": [{"type": "contains", "value": "x", "name": "mine"}]}
    one = one_case(tmp_path, **own | keys, suite={"assertions": [{"type": "contains", "value": "y", "name": "suite"}]})
    assert [assertion.name for assertion in one.assertions] == names


@pytest.mark.parametrize(
    "place", [{"assert": CONTAINS}, {"execution": {"assertions": CONTAINS}}, {"execution": {"evaluators": CONTAINS}}]
)
def test_old_places_of_the_suite_s_assertions(tmp_path, place):
    one = one_case(tmp_path, assertions=[], suite=place)
    assert [assertion.type for assertion in one.assertions] == ["contains"]


def test_a_case_with_criteria_alone_is_for_a_judge(tmp_path):
    one = one_case(tmp_path, assertions=None, criteria="It is polite")
    assert [assertion.type for assertion in one.assertions] == ["llm-grader"]


def test_what_is_wrong_with_the_suite_s_own_assertions_is_told_once(tmp_path):
    with pytest.raises(SuiteError) as caught:
        read_tests(tmp_path, case("a"), case("b"), assertions=[{"type": "contains"}])
    assert len(caught.value.problems) == 1


def test_references_in_a_template_of_assertions_are_replaced(tmp_path):
    included = {"assertions": [{"type": "contains", "name": "wanted", "value": "${{ WORD }}"}]}
    files = {
        "evals/EVAL.yaml": suite_text(case(assertions=[{"include": "base"}])),
        ".agentv/templates/base.yaml": included,
    }
    (assertion,) = read(tmp_path, files, WORD="please").cases[0].assertions
    assert assertion.grader.texts == ("please",)


def test_variables_of_a_case(tmp_path):
    one = one_case(
        tmp_path,
        vars={"file": "a.ts", "role": "user", "n": 2},
        input=[{"role": "user", "content": "Fix {{ file }}, {{ n }} times"}],
        assertions=[{"type": "contains", "value": "{{ file }}", "name": "{{ file }}"}],
        suite={"input": "About {{ file }}"},
    )
    assert one.prompt == "@[User]:\nAbout a.ts\n\n@[User]:\nFix a.ts, 2 times"
    assert one.assertions[0].name == "{{ file }}"


@pytest.mark.parametrize(
    ("keys", "prompt"),
    [
        pytest.param({}, "@[User]:\nFor Ana\n\n@[User]:\nDo it", id="before an own input"),
        pytest.param(
            {"input": None, "mode": "conversation", "turns": [{"input": "Hi"}]},
            "@[User]:\nFor Ana\n\n@[User]:\nHi",
            id="a conversation without an own input",
        ),
        pytest.param({"vars": None}, "@[User]:\nFor {{ who }}\n\n@[User]:\nDo it", id="without variables"),
    ],
)
def test_the_suite_s_input_has_the_variables_of_each_test(tmp_path, keys, prompt):
    one = one_case(tmp_path, **{"vars": {"who": "Ana"}, **keys}, suite={"input": "For {{ who }}"})
    assert one.prompt == prompt


def test_the_suite_s_files_have_the_variables_of_each_test(tmp_path):
    files = {"evals/ana.md": ""}
    one = one_case(tmp_path, vars={"who": "ana"}, files=files, suite={"input_files": ["{{ who }}.md"]})
    assert one.prompt == f'<file: path="{tmp_path}/evals/ana.md">\n\nDo it'


@pytest.mark.parametrize(
    ("keys", "prompt"),
    [
        pytest.param({}, "@[System]:\nBe brief\n\n@[User]:\nDo it", id="before the test's own"),
        pytest.param({"execution": {"skip_defaults": True}}, "Do it", id="skip_defaults"),
    ],
)
def test_the_suite_s_input(tmp_path, keys, prompt):
    assert one_case(tmp_path, **keys, suite={"input": [{"role": "system", "content": "Be brief"}]}).prompt == prompt


@pytest.mark.parametrize(
    ("keys", "prompt"),
    [
        pytest.param({}, '<file: path="{root}/evals/s.md">\n\nDo it', id="the suite's"),
        pytest.param({"input_files": ["c.md"]}, '<file: path="{root}/evals/c.md">\n\nDo it', id="the case's instead"),
        pytest.param({"execution": {"skip_defaults": True}}, "Do it", id="skip_defaults"),
    ],
)
def test_the_suite_s_files(tmp_path, keys, prompt):
    files = {"evals/s.md": "s", "evals/c.md": "c"}
    one = one_case(tmp_path, **keys, files=files, suite={"input_files": ["s.md"]})
    assert one.prompt == prompt.format(root=tmp_path)


def test_files_are_looked_for_beside_the_case_then_from_the_suite_upwards(tmp_path):
    files = {
        "evals/cases/a/case.yaml": case(None, input_files=["one.md", "two.md", "/three.md"]),
        **dict.fromkeys(["evals/cases/a/one.md", "evals/one.md", "evals/two.md", "two.md", "three.md"], "x"),
    }
    (one,) = read(tmp_path, FOLDERS | files).cases
    assert [file.relative_to(tmp_path).as_posix() for file in one.files] == [
        "evals/cases/a/one.md",
        "evals/two.md",
        "three.md",
    ]


def test_a_file_that_is_not_there_is_a_warning(tmp_path):
    suite = read_tests(tmp_path, case(input_files=["nope.md"]))
    assert suite.cases[0].prompt == "Do it"
    assert "there is no file nope.md: the input does not include it" in warnings(suite)[0]


# --- dependencies -----------------------------------------------------------------------------------


def test_dependencies(tmp_path):
    suite = read_tests(tmp_path, case("a"), case("b", depends_on=["a"], on_dependency_failure="run"))
    assert [(one.depends_on, one.on_dependency_failure) for one in suite.cases] == [((), "skip"), (("a",), "run")]


def test_what_depends_on_an_unusable_case_cannot_be_used_either(tmp_path):
    broken = {"id": "a"}
    suite = read_tests(
        tmp_path,
        broken,
        case("b", depends_on=["a"]),
        case("c", depends_on=["b"]),
        case("d", depends_on=["a"], on_dependency_failure="run"),
        case("e"),
    )
    assert [one.id for one in suite.cases] == ["d", "e"]
    assert [(one.case_id, one.problem.message) for one in suite.invalid] == [
        ("a", "the test has no input"),
        ("b", "depends on 'a', which cannot be used"),
        ("c", "depends on 'b', which cannot be used"),
    ]


def test_cases_in_a_circle_cannot_be_used(tmp_path):
    suite = read_tests(tmp_path, case("a", depends_on=["b"]), case("b", depends_on=["a"]), case("c"))
    assert [one.id for one in suite.cases] == ["c"]
    assert [one.problem.message.split(":")[0] for one in suite.invalid] == ["depends on itself", "depends on itself"]


# --- workspaces -------------------------------------------------------------------------------------

TEMPLATE = {"evals/tpl/a.txt": "a"}


@pytest.mark.parametrize(
    ("workspace", "mode", "source", "template"),
    [
        pytest.param("./tpl/", "isolated", "template", "evals/tpl", id="a folder, as in the seed"),
        pytest.param({"template": "tpl"}, "isolated", "template", "evals/tpl", id="a template"),
        pytest.param({"template": "tpl", "isolation": "per_test"}, "isolated", "template", "evals/tpl", id="per_test"),
        pytest.param({"template": "tpl", "isolation": "shared"}, "shared", "template", "evals/tpl", id="shared"),
        pytest.param({"hooks": {}}, "isolated", "empty", None, id="hooks alone: an empty one"),
        pytest.param("ws/w.yaml", "isolated", "template", "evals/ws/inner", id="a file; paths are relative to it"),
        pytest.param(
            {"template": "tpl/x.code-workspace"},
            "isolated",
            "template",
            "evals/tpl",
            id="a .code-workspace file means its folder",
        ),
        pytest.param(None, "isolated", "repository", None, id="none: nothing is said"),
    ],
)
def test_the_workspace_of_a_suite(tmp_path, workspace, mode, source, template):
    files = {
        "evals/EVAL.yaml": suite_text(workspace=workspace),
        "evals/ws/w.yaml": "template: inner",
        "evals/ws/inner/b": "b",
        "evals/tpl/x.code-workspace": "{}",
        **TEMPLATE,
    }
    spec = read(tmp_path, files).workspace
    assert (spec.mode, spec.source, spec.template) == (mode, source, tmp_path / template if template else None)


def test_a_static_workspace_is_the_folder_itself(tmp_path):
    files = {"evals/EVAL.yaml": suite_text(workspace={"path": "tpl"}), **TEMPLATE}
    assert read(tmp_path, files).workspace == WorkspaceSpec(mode="none", source="empty", cwd=tmp_path / "evals/tpl")


@pytest.mark.parametrize(
    ("own", "suite", "template"),
    [
        pytest.param(None, None, "evals/cases/a/workspace", id="where the suite has none"),
        pytest.param(
            None, {"template": "tpl", "isolation": "shared"}, "evals/cases/a/workspace", id="in place of the suite's"
        ),
        pytest.param(
            {"hooks": {"before_each": {"command": ["true"]}}},
            "tpl",
            "evals/cases/a/workspace",
            id="with hooks of the case's own",
        ),
        pytest.param({"template": "tpl"}, None, "evals/tpl", id="unless the case names another"),
    ],
)
def test_a_workspace_beside_a_case_is_its_own(tmp_path, own, suite, template):
    files = {
        "evals/EVAL.yaml": {"tests": "cases", **({"workspace": suite} if suite else {})},
        "evals/cases/a/case.yaml": case(None, **({"workspace": own} if own else {})),
        "evals/cases/a/workspace/w": "w",
        "evals/cases/b/case.yaml": case(None),
        **TEMPLATE,
    }
    first, second = read(tmp_path, files).cases
    assert (first.workspace.mode, first.workspace.template) == ("isolated", tmp_path / template)
    assert second.workspace is None


@pytest.mark.parametrize(
    ("workspace", "message"),
    [
        pytest.param("./nope", "workspace: there is no ./nope; name a folder", id="not there"),
        pytest.param({"template": "nope"}, "workspace: there is no template nope", id="a template that is not there"),
        pytest.param({"repos": [{"repo": "x"}]}, "repos[0]: the repository has no path", id="repositories"),
        pytest.param({"docker": {"image": "x"}}, "workspace.docker: docker is not supported", id="docker"),
        pytest.param({"static_path": "x"}, "workspace.static_path: static_path is not supported", id="an old key"),
        pytest.param({"isolation": "none"}, "workspace: isolation must be shared or per_test", id="isolation"),
        pytest.param(
            {"hooks": {"before_all": {}}}, "workspace.hooks.before_all: has no command", id="a hook without command"
        ),
        pytest.param(
            {"hooks": {"before_all": {"command": []}}}, "before_all.command: must not be empty", id="an empty command"
        ),
        pytest.param(["a"], "workspace: must be a mapping of keys to values", id="a list"),
    ],
)
def test_a_workspace_that_cannot_be_made(tmp_path, workspace, message):
    with pytest.raises(SuiteError) as caught:
        read_tests(tmp_path, workspace=workspace)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("hook", "argv", "timeout", "cwd"),
    [
        pytest.param({"command": ["sh", "./x.sh", "a b"]}, ("sh", "./x.sh", "a b"), 60.0, "evals", id="a list"),
        pytest.param(
            {"command": "sh  ./x.sh 'a b'"}, ("sh", "./x.sh", "'a", "b'"), 60.0, "evals", id="a text is split"
        ),
        pytest.param({"script": ["a"]}, ("a",), 60.0, "evals", id="an old name"),
        pytest.param({"command": ["a"], "timeout_ms": 1500}, ("a",), 1.5, "evals", id="a time limit"),
        pytest.param({"command": ["a"], "cwd": "scripts"}, ("a",), 60.0, "evals/scripts", id="a folder"),
    ],
)
def test_a_hook_of_a_workspace(tmp_path, hook, argv, timeout, cwd):
    (made,) = read_tests(tmp_path, workspace={"hooks": {"before_each": hook}}).workspace.hooks.before_each
    assert (made.argv, made.timeout, made.cwd) == (argv, timeout, tmp_path / cwd)


def test_hooks_after_have_less_time(tmp_path):
    commands = {stage: {"command": ["a"]} for stage in ("before_all", "before_each", "after_each", "after_all")}
    hooks = read_tests(tmp_path, workspace={"hooks": commands}).workspace.hooks
    stages = (hooks.before_all, hooks.before_each, hooks.after_each, hooks.after_all)
    assert [hook.timeout for (hook,) in stages] == [60.0, 60.0, 30.0, 30.0]


def test_hooks_of_a_case_replace_those_of_the_same_stage(tmp_path):
    suite = {"hooks": {"before_each": {"command": ["s"]}, "after_each": {"command": ["s"]}}}
    own = {"hooks": {"before_each": {"command": ["c"]}}}
    off = {"hooks": {"enabled": False}}
    first, second = read_tests(tmp_path, case("a", workspace=own), case("b", workspace=off), workspace=suite).cases
    assert [hook.argv for hook in (*first.workspace.hooks.before_each, *first.workspace.hooks.after_each)] == [
        ("c",),
        ("s",),
    ]
    assert (second.workspace.hooks.before_each, second.workspace.hooks.after_each) == ((), ())


def test_what_has_to_be_installed_is_looked_for_before_all(tmp_path):
    needs = {"required_commands": ["git"], "required_python_modules": ["json"]}
    hooks = read_tests(tmp_path, workspace={"env": needs}).workspace.hooks.before_all
    assert [hook.argv[-1] for hook in hooks] == ["git", "json"]


# --- the suite --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param({"workspce": "x"}, "unknown key 'workspce'; did you mean 'workspace'?", id="a misspelt key"),
        pytest.param({"other": "x"}, "unknown key 'other'", id="an unknown key"),
        pytest.param(
            {"execution": {"treshold": 1}}, "unknown key 'treshold'; did you mean 'threshold'?", id="one in execution"
        ),
        pytest.param({"assert": CONTAINS}, "assert: assert is an old name; write assertions", id="an old name"),
        pytest.param(
            {"execution": {"workers": 4}},
            "workers is ignored: a suite does not set the number of parallel sessions; use --jobs",
            id="workers",
        ),
        pytest.param({"execution": {"trials": {"strategy": "mean"}}}, "trials has no count", id="trials without count"),
        pytest.param({"evaluator": "code-grader"}, "evaluator: evaluator has no effect", id="a default evaluator"),
        pytest.param({"evaluator": ["x"]}, "evaluator: evaluator has no effect", id="a list of evaluators"),
        *(
            pytest.param(
                {"assertions": [{"type": "llm-grader", "prompt": "p", key: value}]},
                f"assertions[0].{key}: {key} has no effect: ",
                id=f"{key} of a question to the judge",
            )
            for key, value in (("target", "g"), ("temperature", 0.2), ("max_steps", 3), ("preprocessors", []))
        ),
        pytest.param({"preprocessors": [{"type": "pdf"}]}, "preprocessors are not supported", id="preprocessors"),
        pytest.param(
            {"description": "${{ MY_TOKEN }}"}, "MY_TOKEN is left empty: suites cannot use secrets", id="a secret"
        ),
    ],
)
def test_what_is_dubious_is_a_warning(tmp_path, keys, message):
    suite = read(tmp_path, {"evals/EVAL.yaml": suite_text(**keys)}, MY_TOKEN="t")
    assert len(suite.cases) == 1
    assert any(message in text for text in warnings(suite))


def test_extensions_and_schemas_are_no_unknown_keys(tmp_path):
    assert read_tests(tmp_path, case(**{"x-own": 1}), **{"$schema": "s", "x-own": 1}).warnings == ()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        pytest.param({"execution": []}, "execution: must be a mapping", id="execution is a list"),
        pytest.param({"tags": "a"}, "tags: must be a list", id="tags are a text"),
        pytest.param({"name": 7}, "name: must be text", id="the name is a number"),
        pytest.param({"execution": {"trials": {"count": 1.5}}}, "count: must be a whole number", id="half a trial"),
        pytest.param(
            {"execution": {"trials": {"count": 0}}}, "trials.count: must be a whole number, from 1", id="no trial"
        ),
        pytest.param(
            {"execution": {"trials": {"count": 2, "strategy": "median"}}},
            "strategy: must be one of pass_at_k, mean, confidence_interval, not 'median'",
            id="an unknown strategy",
        ),
        pytest.param({"execution": {"fail_on_error": "x"}}, "fail_on_error: must be true or false", id="fail_on_error"),
        pytest.param(
            {"execution": {"budget_usd": -1}}, "budget_usd: must be a number, 0 or more, not -1", id="a negative budget"
        ),
    ],
)
def test_a_suite_that_cannot_be_used(tmp_path, keys, message):
    with pytest.raises(SuiteError) as caught:
        read_tests(tmp_path, **keys)
    assert message in str(caught.value)


def test_a_secret_is_not_given_to_a_suite(tmp_path):
    suite = read(
        tmp_path, {"evals/EVAL.yaml": suite_text(case(input="${{ API_KEY }}${{ SHOWN }}"))}, API_KEY="k", SHOWN="s"
    )
    assert suite.cases[0].prompt == "s"


@pytest.mark.parametrize(
    "value",
    ["postgres://u:hunter22@db/x", "http://:hunter22@proxy:3128", f"x ghp_{'a1B2' * 9}"],
    ids=["a password in a URL", "a password without a user", "a key"],
)
@pytest.mark.parametrize("where", ["environment", "file"])
def test_a_secret_by_its_value_is_not_given_to_a_suite(tmp_path, value, where):
    files = {"evals/EVAL.yaml": suite_text(case(input="a${{ DATABASE_URL }}"), description="${{ DATABASE_URL }}")}
    if where == "file":
        suite = read(tmp_path, {**files, ".env": f"DATABASE_URL={value}"})
    else:
        suite = read(tmp_path, files, DATABASE_URL=value)
    assert suite.cases[0].prompt == "a"
    assert "DATABASE_URL is left empty: suites cannot use secrets" in " ".join(warnings(suite))
    assert value not in repr(suite)


@pytest.mark.parametrize("value", ["postgres://u@db/x", "https://example.com:8080/@a", "a:b@c"])
def test_an_address_without_a_password_is_given_to_a_suite(tmp_path, value):
    suite = read(tmp_path, {"evals/EVAL.yaml": suite_text(case(input="a ${{ DATABASE_URL }}"))}, DATABASE_URL=value)
    assert suite.cases[0].prompt == f"a {value}"


def test_an_env_file_is_for_the_suite_and_the_environment_wins(tmp_path):
    files = {"evals/EVAL.yaml": suite_text(case(input="${{ A }} ${{ B }}")), ".env": "A=1\nB=1"}
    assert read(tmp_path, files, B="2").cases[0].prompt == "1 2"


def test_trials_are_sessions_after_a_failure(tmp_path):
    assert one_case(tmp_path, suite={"execution": {"trials": {"count": 3}}}).retries == 2


@pytest.mark.parametrize("strategy", ["mean", "confidence_interval"])
def test_trials_with_a_score_of_all_are_repetitions(tmp_path, strategy):
    trials = {"count": 3, "strategy": strategy, "cost_limit_usd": 2}
    case = one_case(tmp_path, suite={"execution": {"trials": trials}})
    assert (case.retries, case.repetitions, case.averaged) == (0, 3, True)
    assert (case.trials.strategy, case.trials.cost_limit) == (strategy, 2.0)


def test_one_trial_is_none(tmp_path):
    case = one_case(tmp_path, suite={"execution": {"trials": {"count": 1, "strategy": "mean"}}})
    assert (case.trials, case.repetitions) == (None, None)


def test_a_suite_may_end_with_its_first_error(tmp_path):
    assert read_tests(tmp_path, execution={"fail_on_error": True}).stops_on_error
    assert not read_tests(tmp_path).stops_on_error


def test_the_budget_is_the_suite_s(tmp_path):
    assert read_tests(tmp_path, execution={"budget_usd": 2.5}).budget == 2.5


def test_files_with_the_cases_are_hidden_from_agents(tmp_path):
    assert read(tmp_path, FOLDERS | {"evals/cases/a/case.yaml": case(None)}).hidden == ("evals/cases",)


def test_merge_keys_and_words_of_yaml_1_2(tmp_path):
    text = """
tests:
- &first {id: on, input: "no", criteria: x, metadata: {when: 2024-01-01, mode: 012}}
- {<<: *first, id: "2"}
"""
    first, second = read(tmp_path, {"evals/EVAL.yaml": text}).cases
    assert (first.id, first.prompt, first.metadata) == ("on", "no", {"when": "2024-01-01", "mode": 12})
    assert (second.id, second.prompt) == ("2", "no")
