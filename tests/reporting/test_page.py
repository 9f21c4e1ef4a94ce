"""The page as text: whole, escaped, and closed to everything outside."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from importlib import resources

import numpy as np
import pytest

from committee import report
from committee.reporting.report import pieces, rounded
from tests.reporting.conftest import HOSTILE

ASSETS = resources.files("committee.reporting").joinpath("assets")


class Reader(HTMLParser):
    """Collects tags with their attributes, text, and the text of scripts."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.tags, self.text, self.scripts = [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))

    def handle_data(self, data):
        if self.tags[-1:] and self.tags[-1][0] == "script":
            attrs, _ = self.scripts[-1]
            self.scripts[-1] = (attrs, data)
        else:
            self.text.append(data)

    def handle_endtag(self, tag):
        if tag == "script":
            self.tags.append(("/script", {}))


def read(html):
    reader = Reader()
    reader.feed(html)
    return reader


@pytest.fixture(scope="module")
def hostile(pruned):
    small, X, y = pruned
    return report(small, X, y, title=HOSTILE, notes={HOSTILE: HOSTILE})


def test_text_of_the_data_stays_text(hostile):
    reader = read(hostile)
    text = "".join(reader.text)
    # The title, a class label, a column, and both sides of a note.
    assert text.count(HOSTILE) >= 6
    assert "virginica & <b>" in text
    assert "img" not in [tag for tag, _ in reader.tags]
    assert "alert(1)</script" not in hostile


def test_the_scripts_are_the_ones_the_policy_names(hostile):
    reader = read(hostile)
    code = [text for attrs, text in reader.scripts if "type" not in attrs]
    assert len(code) == 3
    (policy,) = [
        attrs["content"] for tag, attrs in reader.tags if "http-equiv" in attrs
    ]
    assert policy.startswith("default-src 'none';")
    for text in code:
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]


def test_the_numbers_can_be_read_and_cannot_end_their_block(hostile):
    ((_, text),) = [s for s in read(hostile).scripts if "type" in s[0]]
    assert not set("<>&'") & set(text)
    assert "\u2028" not in text
    numbers = json.loads(text)
    assert numbers["path"]["size"]


def test_nothing_is_asked_for(hostile):
    reader = read(hostile)
    for tag, attrs in reader.tags:
        assert not {"src", "srcset", "action", "data"} & set(attrs), tag
        assert attrs.get("href", "data:,") == "data:,"
    style = re.search(r"<style>(.*?)</style>", hostile, flags=re.DOTALL).group(1)
    assert "url(" not in style
    assert "@import" not in style


def test_pictures_have_words_and_headers_can_be_reached(hostile):
    reader = read(hostile)
    charts = [a for _, a in reader.tags if a.get("role") == "img"]
    assert len(charts) == 7
    assert all(len(a["aria-label"]) > 30 for a in charts)
    assert sum(tag == "button" for tag, _ in reader.tags) == 14
    tags = dict(reader.tags)
    assert tags["html"]["lang"] == "en"


def test_bytes_of_a_file_name_that_are_no_text_do_no_harm(classifier, tmp_path):
    committee, X, y = classifier
    name = b"\xe9.csv".decode("utf-8", "surrogateescape")
    path = tmp_path / "page.html"
    report(committee, X, y, path, notes={"data": name})
    assert ">?.csv<" in path.read_text(encoding="utf-8")


def test_rounding_keeps_words_whole_numbers_and_short_ones():
    value = {"a": (1, "x", None, True), "b": [float("inf"), 1234567.8915, -1e-12]}
    assert rounded(value) == {
        "a": [1, "x", None, True],
        "b": [None, 1234567.89, -1e-12],
    }


def test_rounding_keeps_differences_of_numbers_far_from_zero():
    """A large offset must not hide the differences."""
    rng = np.random.default_rng(0)
    predicted = 1e5 + rng.normal(size=50)
    left = rng.normal(size=50)
    points = np.array(rounded(np.column_stack([predicted, left]).tolist()))
    assert points == pytest.approx(np.column_stack([predicted, left]), abs=5e-4)
    assert len(np.unique(points[:, 0])) == 50
    # Small weights beside large ones keep their digits.
    assert rounded([0.9, 1.23456e-9]) == [0.9, 1.23456e-9]
    assert rounded([[1.0, 2.0], [3.0]]) == [[1.0, 2.0], [3.0]]


def test_the_chart_libraries_are_the_ones_that_were_looked_at():
    lines = ASSETS.joinpath("VERSIONS.txt").read_text(encoding="utf-8").splitlines()
    entries = [line.split() for line in lines if line.endswith(".min.js")]
    assert len(entries) == 2
    for digest, package, name in entries:
        data = ASSETS.joinpath(name).read_bytes()
        assert hashlib.sha256(data).hexdigest() == digest
        assert package.split("@")[-1] in data[:200].decode()
        assert b"</script" not in data
        licence = ASSETS.joinpath(f"LICENSE-{name.split('.')[0]}")
        assert "Permission to use" in licence.read_text(encoding="utf-8")


def test_names_break_between_words_and_lose_nothing(hostile):
    assert pieces("a_long, CamelName x") == ["a_", "long, Camel", "Name x"]
    assert "".join(pieces(HOSTILE)) == HOSTILE
    assert "&lt;/<wbr>script&gt;" in hostile
