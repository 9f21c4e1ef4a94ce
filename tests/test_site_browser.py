"""The built site in a real browser: it loads, leads on, finds, and fits a phone."""

import functools
import http.server
import threading
from pathlib import Path

import pytest

SITE = Path(__file__).parents[1] / "build" / "site"
#: A page of each kind.
KINDS = (
    "index.html",
    "gallery/index.html",
    "gallery/shrink_a_forest.html",
    "api.html",
    "api/EPPruner.html",
    "guide/prune.html",
    "theory/ep_experiments.html",
    "studies/chen.html",
    "studies/hamers.html",
)
PHONE, DESK = 390, 1400

pytestmark = pytest.mark.slow


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *args):
        """Say nothing: the browser collects what goes wrong."""


@pytest.fixture(scope="module")
def address():
    """Where the site is served; scripts of files may not read other files."""
    if not (SITE / "index.html").exists():
        pytest.skip("there is no site: python -m docs")
    handler = functools.partial(_Quiet, directory=str(SITE))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}/"
        server.shutdown()
        thread.join()


@pytest.fixture
def opened(browser, address):
    """Open a page; errors, missing files and requests to others are collected."""
    contexts = []

    def open_page(name, width=DESK, **options):
        context = browser.new_context(
            viewport={"width": width, "height": 900}, **options
        )
        contexts.append(context)
        page = context.new_page()
        page.troubles = []
        page.on(
            "console",
            lambda m: page.troubles.append(m.text) if m.type == "error" else None,
        )
        page.on("pageerror", lambda e: page.troubles.append(str(e)))
        page.on(
            "response",
            lambda r: page.troubles.append(r.url) if r.status >= 400 else None,
        )
        page.on(
            "request",
            lambda r: (
                None
                if r.url.startswith((address, "data:"))
                else page.troubles.append(r.url)
            ),
        )
        page.goto(address + name)
        return page

    yield open_page
    for context in contexts:
        context.close()


def _pictures_that_are_missing(page):
    return page.evaluate(
        """async () => {
            const all = [...document.images];
            for (const image of all) {
                image.loading = "eager";
                await image.decode().catch(() => null);
            }
            return all.filter((i) => !i.naturalWidth).map((i) => i.src);
        }"""
    )


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_pages_load_without_a_complaint_and_fit_the_screen(opened, address, width):
    page = opened(KINDS[0], width)
    for name in KINDS:
        page.goto(address + name)
        assert page.locator("h1").count() == 1, name
        assert _pictures_that_are_missing(page) == []
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, name
    assert page.troubles == []


def test_every_example_shows_a_picture_and_its_card_has_one(opened):
    page = opened("gallery/index.html")
    cards = page.locator(".sphx-glr-thumbcontainer")
    links = [
        cards.nth(i).locator("a").first.get_attribute("href")
        for i in range(cards.count())
    ]
    assert len(links) >= 12
    assert _pictures_that_are_missing(page) == []
    start = page.url
    for link in links:
        page.goto(start.replace("index.html", link.split("#")[0]))
        assert page.locator("img[src*='sphx_glr_']").count() >= 1, link
        assert _pictures_that_are_missing(page) == []
    assert page.troubles == []


def test_one_click_leads_to_a_section_and_the_next_to_a_page(opened):
    page = opened("index.html")
    bar = page.locator(".bd-header")
    bar.get_by_role("link", name="API", exact=True).click()
    assert page.locator("h1").inner_text().startswith("API")
    page.locator("article").get_by_role("link", name="EPPruner").first.click()
    assert page.url.endswith("api/EPPruner.html")
    bar.get_by_role("link", name="Examples").click()
    page.get_by_text("Can I shrink a forest").first.click()
    assert "shrink_a_forest" in page.url
    assert page.troubles == []


def test_the_search_finds_a_name(opened):
    page = opened("search.html?q=EPPruner")
    page.wait_for_selector("#search-results li a")
    links = page.locator("#search-results li a")
    found = [links.nth(i).get_attribute("href") for i in range(links.count())]
    assert any("api/EPPruner.html" in link for link in found)
    assert page.troubles == []


def test_whoever_prefers_dark_pages_gets_them(opened):
    brightness = (
        "getComputedStyle(document.body).backgroundColor"
        ".match(/\\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b)"
    )
    dark = opened("index.html", color_scheme="dark").evaluate(brightness)
    light = opened("index.html", color_scheme="light").evaluate(brightness)
    assert dark < 3 * 60 < 3 * 200 < light
