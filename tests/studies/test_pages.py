"""The pages: claims first, signs, and figures that the site can show."""

import re

import pytest

from studies import pages
from studies.claims import Claim
from studies.kept import read
from studies.pages import DOCS, PAPERS, write_pages
from studies.pictures import PICTURES, Picture
from studies.study import STUDIES
from tests.studies.small import folder


@pytest.fixture(scope="module")
def summaries():
    return {name: read(name) for name in STUDIES}


@pytest.fixture
def without_pictures(monkeypatch):
    def nothing(picture, summaries, folder, data):
        return True

    monkeypatch.setattr(pages, "draw", nothing)


def test_the_pages_in_the_docs_are_those_of_what_is_kept(
    tmp_path, summaries, without_pictures
):
    for path in write_pages(summaries, tmp_path):
        beside = DOCS / "studies" / path.name
        assert path.read_text("utf-8") == beside.read_text("utf-8")


def test_every_study_is_on_one_page_and_every_figure_is_there_and_small():
    names = [name for paper in PAPERS.values() for name in paper.studies]
    assert sorted(names) == sorted(STUDIES)
    for paper, pictures in PICTURES.items():
        text = (DOCS / "studies" / f"{paper}.md").read_text("utf-8")
        shown = re.findall(r"\(\.\./figures/studies/([^)]+)\)", text)
        assert shown == [picture.name for picture in pictures]
        for name in shown:
            size = (DOCS / "figures" / "studies" / name).stat().st_size
            assert size < 100_000, name


def test_claims_come_first_and_tables_are_folded(tmp_path, summaries, without_pictures):
    write_pages(summaries, tmp_path)
    text = (tmp_path / "studies" / "hamers.md").read_text("utf-8")
    order = [text.index(part) for part in ("## Did it", "## Figures", "<details>")]
    assert order == sorted(order)
    assert text.count("<details>") == text.count("</details>")


@pytest.mark.parametrize(
    ("verdicts", "sign", "signs"),
    [
        (["reproduced"], "✔", "✔"),
        (["reproduced", "not"], "◐", "1\N{NO-BREAK SPACE}✔ 1\N{NO-BREAK SPACE}✘"),
        (["partly", "not"], "◐", "1\N{NO-BREAK SPACE}◐ 1\N{NO-BREAK SPACE}✘"),
        (["not", "not"], "✘", "2\N{NO-BREAK SPACE}✘"),
    ],
)
def test_signs_of_several_verdicts(summaries, verdicts, sign, signs):
    summary = summaries["hamers-sine"]
    claims = [Claim("a text", "", "paper", "", verdict) for verdict in verdicts]
    summary.claims[:], before = claims, list(summary.claims)
    try:
        assert pages._together(summary, "text") == sign
        assert pages._signs(summary.verdicts("text", ("paper",))) == signs
    finally:
        summary.claims[:] = before


def test_a_figure_without_its_data_stays_as_it_is(tmp_path, summaries):
    def missing(summaries, data, fig):
        raise FileNotFoundError

    picture = Picture("a.svg", "", "", missing)
    assert not pages.draw(picture, summaries, tmp_path, None)
    (tmp_path / "a.svg").write_text("old")
    assert pages.draw(picture, summaries, tmp_path, None)
    assert (tmp_path / "a.svg").read_text() == "old"


@pytest.mark.slow
@pytest.mark.parametrize(
    "picture",
    [p for pictures in PICTURES.values() for p in pictures],
    ids=lambda picture: picture.name,
)
def test_every_figure_can_be_drawn(tmp_path, summaries, picture):
    if not pages.draw(picture, summaries, tmp_path, folder()):
        pytest.skip("the data set of this figure is not at hand")
    assert (tmp_path / picture.name).stat().st_size < 100_000
