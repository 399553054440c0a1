import pytest

from table_rows import each_row, each_row_holds

EVEN = [("two", 2), ("four", 4)]


def is_even(number):
    assert 12 % number == 0
    assert number % 2 == 0, f"{number} is odd"


def test_a_table_of_correct_rows_raises_nothing():
    each_row_holds(EVEN, is_even)


def test_every_wrong_row_is_named_with_its_error():
    rows = [*EVEN[:1], ("three", 3), ("none", 0), *EVEN[1:]]
    with pytest.raises(AssertionError) as raised:
        each_row_holds(rows, is_even)
    lines = str(raised.value).splitlines()
    assert lines[0] == "2 of 4 rows do not hold:"
    assert lines[1].startswith("three: AssertionError: 3 is odd")
    assert lines[-1].startswith("none: ZeroDivisionError: ")


def test_a_row_that_fails_as_pytest_has_it_does_not_end_the_table():
    def fails(number):
        if number == 2:
            pytest.fail("two")
        with pytest.raises(ValueError, match="x"):
            pass

    with pytest.raises(
        AssertionError, match=r"^2 of 2 rows do not hold:\ntwo: Failed: two\nfour: Failed: DID NOT RAISE"
    ):
        each_row_holds(EVEN, fails)


def test_a_table_without_rows_is_an_error():
    with pytest.raises(AssertionError, match="the table has no rows"):
        each_row_holds([], is_even)


@each_row(EVEN)
def test_a_function_about_one_row_becomes_a_test_of_all(number):
    assert is_even(number) is None


def test_a_test_of_all_rows_fails_if_one_is_wrong():
    @each_row([*EVEN, ("three", 3)])
    def test_a_row(number):
        """As it says."""
        is_even(number)

    assert (test_a_row.__name__, test_a_row.__doc__) == ("test_a_row", "As it says.")
    with pytest.raises(AssertionError, match=r"^1 of 3 rows do not hold:\nthree: "):
        test_a_row()
