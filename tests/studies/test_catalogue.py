import pytest

from committee.studies.catalogue import STUDIES, get_study
from committee.studies.datasets import names
from committee.studies.study import Results


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_complete_and_reports_without_runs(name):
    study = get_study(name)
    assert study.name == name
    assert set(study.datasets) <= set(study.cells)
    assert set(study.datasets.values()) <= set(names())
    parts = study.report(lambda other: Results(other, {}))
    verdicts = {
        p.verdict
        for p in parts
        if hasattr(p, "verdict") and p.protocol != "printed scores"
    }
    assert verdicts == {"undecided"}


def test_an_unknown_study_gets_a_suggestion():
    with pytest.raises(ValueError, match="Did you mean 'chen-poker'"):
        get_study("chen-pokr")
