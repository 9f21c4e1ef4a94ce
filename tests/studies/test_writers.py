from committee.studies.study import Claim
from committee.studies.writers import FORMS

CLAIM = Claim("It <works>.", "a rule", "paper", "it does", "reproduced")


def test_verdicts_come_first_in_text():
    assert FORMS["table"].claims([CLAIM]).startswith("reproduced  It <works>. [paper]")


def test_html_is_escaped():
    assert "It &lt;works&gt;." in FORMS["html"].claims([CLAIM])


def test_columns_are_aligned():
    text = FORMS["table"].grid(["a", "b"], [["long word", "x"], ["y", "z"]])
    assert text.splitlines() == ["a          b", "long word  x", "y          z"]


def test_an_empty_table_is_nothing():
    assert [form.grid(["a"], []) for form in FORMS.values()] == [""] * 4
