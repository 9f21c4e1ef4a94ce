from tests.studies.small import fill, verdicts


def test_coupling_helps_where_submodels_have_not_trained(tmp_path):
    store = fill(tmp_path / "s.sqlite", "hamers-sine", ["sine"], runs=10)
    assert set(verdicts("hamers-sine", store).values()) == {"reproduced"}
    results = store.results("hamers-sine")
    away = results.values("paper", "sine", "uncoupled.away").mean()
    assert away > results.values("paper", "sine", "uncoupled.member").mean()
