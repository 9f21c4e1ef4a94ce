"""The page in a real browser: it draws, moves, sorts, and stays by itself."""

import itertools
import re

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from committee import (
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    EPPruner,
    MixtureOfExpertsRegressor,
    OrderPruner,
    Pool,
    report,
)
from tests.reporting.conftest import HOSTILE

#: The least contrast of text and of pictures that WCAG wants.
TEXT, INK = 4.5, 3.0


#: A browser of its own takes seconds to start.
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pages(classifier, regressor, pruned, tmp_path_factory):
    """A file for each kind of page."""
    folder = tmp_path_factory.mktemp("pages")
    for name, (committee, X, y) in {
        "classifier": classifier,
        "regressor": regressor,
        "pruned": pruned,
    }.items():
        notes = {"data": HOSTILE}
        report(committee, X, y, folder / f"{name}.html", title=HOSTILE, notes=notes)
    return folder


@pytest.fixture(scope="module")
def huge(regressor, pages):
    """Targets of the size of a country's debt, far from zero."""
    _, X, y = regressor
    moved = CommitteeRegressor(
        generator=Bagging(6), combiner=EPPruner(), random_state=0
    ).fit(X, 1e9 * (1000 + y))
    report(moved, X, 1e9 * (1000 + y), pages / "huge.html")


@pytest.mark.usefixtures("huge")
def test_ticks_of_huge_targets_are_short_and_do_not_touch(opened):
    page = opened("huge", width=390)
    assert page.troubles == []
    for chart in ("path", "pairs", "ambiguity", "residuals"):
        texts = page.locator(f"#{chart}-chart g[aria-label*='tick label'] text")
        boxes = [texts.nth(i).bounding_box() for i in range(texts.count())]
        assert boxes
        assert min(box["x"] for box in boxes) >= 0, chart
        assert max(box["x"] + box["width"] for box in boxes) <= 390, chart
    labels = page.locator("#residuals-chart g[aria-label^='x-axis tick label'] text")
    texts = labels.all_text_contents()
    assert len(set(texts)) == len(texts) > 1
    ends = [labels.nth(i).bounding_box() for i in range(len(texts))]
    for left, right in itertools.pairwise(ends):
        assert left["x"] + left["width"] < right["x"]


def test_the_picture_of_a_gate_is_drawn(opened, pages):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (300, 3))
    y = np.where(X[:, 0] > 0, 5 + X[:, 1], -3 * X[:, 1])
    model = MixtureOfExpertsRegressor(n_experts=2, random_state=0).fit(X[:200], y[:200])
    report(model, X[200:], y[200:], pages / "mixture.html")
    for width in (1280, 390):
        page = opened("mixture", width=width)
        assert page.troubles == []
        dots = page.locator("#gate-chart g[aria-label='dot'] > *")
        assert dots.count() == 100
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_names_of_classes_are_not_broken_letter_by_letter(opened):
    page = opened("pruned", width=390)
    widths = page.evaluate(
        "[...document.querySelectorAll('.confusion th')].map((c) => c.clientWidth)"
    )
    assert min(widths) >= 60


def test_what_can_be_clicked_says_so(opened):
    page = opened("classifier")
    cursor = "getComputedStyle(document.querySelector('#path-chart')).cursor"
    assert page.evaluate(cursor) == "pointer"


@pytest.fixture
def opened(browser, pages):
    """Open a page; its errors and requests are collected."""
    contexts = []

    def open_page(name, width=1280, **options):
        context = browser.new_context(
            viewport={"width": width, "height": 800}, offline=True, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.troubles = []
        page.on("console", lambda m: page.troubles.append(m.text))
        page.on("pageerror", lambda e: page.troubles.append(str(e)))
        page.on("dialog", lambda d: (page.troubles.append(d.message), d.dismiss()))
        page.on("request", lambda r: page.troubles.append(r.url))
        url = (pages / f"{name}.html").as_uri()
        page.goto(url)
        page.wait_for_selector(".chart svg")
        page.troubles = [t for t in page.troubles if t not in (url, "data:,")]
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize(
    ("name", "charts"), [("classifier", 7), ("regressor", 6), ("pruned", 7)]
)
def test_all_charts_are_drawn_without_a_complaint_or_a_request(opened, name, charts):
    page = opened(name)
    assert page.locator(".chart svg").count() == charts
    assert page.locator(".chart path, .chart circle").count() > 10
    assert page.troubles == []


def test_hostile_names_stay_text(opened):
    page = opened("pruned")
    plain = HOSTILE.replace("\u2028", " ")
    assert page.title().replace("\u2028", " ") == plain
    assert page.locator("h1").text_content() == HOSTILE
    labels = page.locator(".confusion tbody th").all_text_contents()
    assert HOSTILE[:59] + "…" in labels
    whole = page.locator(".confusion tbody th span").first
    assert whole.get_attribute("title") == HOSTILE
    assert page.locator("img").count() == 0
    assert page.troubles == []


def test_a_script_that_is_not_the_pages_own_does_not_run(opened):
    page = opened("classifier")
    page.evaluate(
        "() => { const s = document.createElement('script');"
        "s.textContent = 'window.broken = 1'; document.body.append(s); }"
    )
    assert page.evaluate("window.broken") is None
    assert any("Content Security Policy" in text for text in page.troubles)


def test_the_slider_shows_the_members_of_each_size(opened, classifier):
    page = opened("classifier")
    kept = classifier[0].n_members_
    slider, members = page.locator("#path-slider"), page.locator("#path-members li")
    assert members.count() == kept
    assert "(chosen)" in page.locator("#path-text").text_content()
    slider.focus()
    page.keyboard.press("Home")
    assert members.count() == 1
    assert slider.get_attribute("aria-valuetext") == "1 member"
    page.keyboard.press("ArrowRight")
    assert members.count() == 2
    assert page.locator("#path-text").text_content().startswith("2 members, ")
    page.get_by_role("button", name="chosen size").click()
    assert members.count() == kept


def test_the_chart_tells_and_moves_to_what_the_mouse_points_at(opened):
    page = opened("classifier")
    chart = page.locator("#path-chart")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    page.mouse.move(box["x"] + 60, box["y"] + 150)
    page.locator("#path-chart", has_text="1 member").wait_for()
    page.mouse.click(box["x"] + 60, box["y"] + 150)
    assert page.locator("#path-members li").count() == 1


def test_headers_sort_by_number_and_by_name(opened, classifier):
    numbers = classifier[0].support_.tolist()
    page = opened("classifier")

    def column(n):
        return page.locator(f"#members tbody td:nth-child({n})").all_text_contents()

    header = page.get_by_role("button", name="member")
    header.click()
    assert column(1) == [f"#{n}" for n in numbers]
    header.press("Enter")
    assert column(1) == [f"#{n}" for n in reversed(numbers)]
    page.get_by_role("button", name=re.compile("alone")).click()
    caption = page.locator("#members caption").text_content()
    assert "by error rate alone, least first; a header sorts" in caption
    errors = [float(text.split()[0]) for text in column(4)]
    assert errors == sorted(errors)
    sorted_by = page.locator("#members th[aria-sort]")
    assert sorted_by.count() == 1
    assert sorted_by.get_attribute("aria-sort") == "ascending"


def test_the_keyboard_reaches_slider_headers_and_tables(opened):
    page = opened("pruned")
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(
            page.evaluate(
                "document.activeElement.id || document.activeElement.textContent.trim()"
            )
        )
    assert "path-slider" in reached
    assert "weight" in reached
    assert reached.index("path-slider") < reached.index("weight")
    page.locator("#path-slider").focus()
    outline = page.evaluate(
        "getComputedStyle(document.querySelector('#path-slider')).outlineStyle"
    )
    assert outline != "none"


@pytest.mark.parametrize("name", ["classifier", "regressor", "pruned"])
def test_a_phone_has_nothing_to_scroll_sideways(opened, name):
    page = opened(name, width=360)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    box = page.locator(".chart svg").first.bounding_box()
    assert box["width"] <= 360
    page.set_viewport_size({"width": 900, "height": 800})
    page.locator(".chart svg[width^='8']").first.wait_for()
    assert page.troubles == []


CONTRASTS = """() => {
  const canvas = document.createElement("canvas").getContext("2d");
  const rgb = (text) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = text;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3);
  };
  const light = (text) => {
    const [r, g, b] = rgb(text).map((c) => c / 255)
      .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const contrast = (a, b) => {
    const [low, high] = [light(a), light(b)].sort((x, y) => x - y);
    return (high + 0.05) / (low + 0.05);
  };
  const colour = (name) => getComputedStyle(document.documentElement)
    .getPropertyValue(`--${name}`).trim();
  const pairs = {};
  for (const paper of ["paper", "card"]) {
    for (const ink of ["ink", "muted", "blue", "vermilion", "green", "orange", "grey"]) {
      pairs[`${ink} on ${paper}`] = contrast(colour(ink), colour(paper));
    }
  }
  pairs.body = contrast(
    getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor
  );
  return pairs;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_ink_can_be_read_in_both_schemes(opened, scheme):
    page = opened("classifier", color_scheme=scheme)
    contrasts = page.evaluate(CONTRASTS)
    weak = {
        name: round(value, 2)
        for name, value in contrasts.items()
        if value < (TEXT if name.split()[0] in ("ink", "muted", "body") else INK)
    }
    assert weak == {}
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (dark == "rgb(255, 255, 255)") == (scheme == "light")


def test_paper_is_white_whatever_the_screen_is(opened):
    page = opened("classifier", color_scheme="dark")
    page.emulate_media(media="print")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert background == "rgb(255, 255, 255)"
    assert page.locator("#path-slider").is_hidden()


def test_without_scripts_the_tables_are_there(browser, pages, classifier):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((pages / "classifier.html").as_uri())
    assert page.locator("#members tbody tr").count() == classifier[0].n_members_
    assert page.locator(".cards > div").count() == 4
    context.close()


def test_tables_that_scroll_say_so(opened):
    page = opened("pruned", width=400)
    boxes = page.locator(".scroll")
    scrolls = 0
    for i in range(boxes.count()):
        box = boxes.nth(i)
        over = box.evaluate("(b) => b.scrollWidth - b.clientWidth")
        hint = box.locator("xpath=following-sibling::p[1][@class='hint']")
        assert hint.is_visible() == (over > 1)
        assert box.evaluate("(b) => b.classList.contains('more')") == (over > 1)
        scrolls += over > 1
        box.evaluate("(b) => { b.scrollLeft = b.scrollWidth; }")
        page.wait_for_timeout(50)
        assert not box.evaluate("(b) => b.classList.contains('more')")
    assert scrolls > 0


@pytest.fixture(scope="module")
def long_names(pages):
    X, y = load_iris(return_X_y=True)
    name = "logistic_regression_with_an_elastic_net_penalty_and_scaling"
    pool = Pool([(name, GaussianNB()), ("Nearest Neighbours", KNeighborsClassifier())])
    committee = CommitteeClassifier(
        generator=pool, combiner=OrderPruner("best", 2), random_state=0
    ).fit(X[::2], y[::2])
    report(committee, X[1::2], y[1::2], pages / "long.html")


@pytest.mark.usefixtures("long_names")
def test_long_names_break_between_their_words(opened):
    page = opened("long", width=390)
    assert page.troubles == []
    name = page.locator("#path-members li span").first
    assert name.locator("wbr").count() > 3
    # No word is broken in itself: the longest one fits into a line.
    lines = page.evaluate(
        """() => { const span = [...document.querySelectorAll('#path-members span')]
          .find((s) => s.textContent.includes('logistic'));
          return [...span.childNodes].filter((n) => n.nodeType === 3).map((n) => {
            const r = document.createRange(); r.selectNodeContents(n);
            return r.getClientRects().length; }); }"""
    )
    assert set(lines) == {1}
    assert page.locator("#pairs-chart text", has_text="+").count() >= 1
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_rates_are_percent_in_pictures_and_tables(opened):
    page = opened("classifier")
    assert (
        " %"
        in page.locator("#pairs-chart g[aria-label='y-axis tick label']").text_content()
    )
    assert page.locator(".verdict p").first.is_visible()
