"""Problems of suites as they are printed: once, with the names of all suites that have them."""

from __future__ import annotations

from skillgym_action.cli.terminal import gathered, once
from skillgym_action.model.errors import Location, Problem


def problem(path: str, line: int = 1, message: str = "no target") -> Problem:
    return Problem(message=message, location=Location(path=path, line=line), key_path="execution.target", remedy="name")


def lines(*found: tuple[str, Problem]) -> list[str]:
    return [str(one) for one in gathered(found)]


def test_what_several_suites_say_at_places_of_their_own_is_a_line_for_each():
    assert lines(("a", problem("a")), ("b", problem("b", 3)), ("a", problem("a"))) == [
        "a:1: execution.target: no target; name",
        "b:3: execution.target: no target; name",
    ]


def test_many_suites_are_counted():
    found = [(f"s{number}", problem("targets.yaml")) for number in range(80)]
    (line,) = lines(*found)
    assert "(suites s0, s1" in line
    assert "more" in line


def test_a_problem_of_a_file_that_suites_share_names_them():
    assert lines(("a", problem("targets.yaml")), ("b", problem("targets.yaml"))) == [
        "targets.yaml:1: execution.target: no target (suites a, b); name"
    ]
    assert lines(("a", problem("targets.yaml"))) == ["targets.yaml:1: execution.target: no target (suite a); name"]


def test_two_mistakes_of_one_suite_are_two_lines():
    assert lines(("a", problem("a", 1)), ("a", problem("a", 2)), ("a", problem("a", 2, "else"))) == [
        "a:1: execution.target: no target; name",
        "a:2: execution.target: no target; name",
        "a:2: execution.target: else; name",
    ]


def test_documents_have_each_problem_once():
    found = [("a", problem("t")), ("b", problem("t")), ("a", problem("a"))]
    assert once(found) == (problem("t"), problem("a"))
