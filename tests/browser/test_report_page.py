"""The page of a report in a browser: opened from disk, without a network, as a reader opens it."""

from __future__ import annotations

import base64
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, sync_playwright

from analysis import analyse, read_table, write_report
from analysis.report.html import page as empty_page
from analysis.report.markdown import table

pytestmark = pytest.mark.browser

REQUIRED = "TUNE_ZOO_BROWSER"
"""Set in CI: without a browser the tests then fail, where elsewhere they are skipped."""

ARGUMENTS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync",
]  # fmt: skip
SORTED = ["−1.5", "≤ 8", "(8, 16]", "(16, 128]", "1,024", "> 2,000"]
ROWS = [("e", "1,024"), ("a", "−1.5"), ("none", "—"), ("c", "(8, 16]"), ("f", "> 2,000"), ("b", "≤ 8")]
LONG = "my_package.my_module:" + "VeryLong" * 12
COMPUTE = table(
    ["mixer", "amount", *["what else"] * 8], [(*row, *[LONG[:30]] * 8) for row in [*ROWS, (LONG, SORTED[3])]]
)
AMOUNTS = "#trials-and-compute ~ .table >> nth=0 >> table"
HOSTILE = ['<script>document.title = "hit"</script>', '"><img src=x onerror="document.title = \'hit\'">']

Open = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        missing = pytest.fail if os.environ.get(REQUIRED) else pytest.skip
        missing("the page is tried in Chromium, and there is none; install the package chromium")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    results = analyse(read_table("example:zoology_figure2"), 0.9)
    about = {"command": f"tune_zoo run {LONG}", "space": "\n".join(HOSTILE)}
    compute = "\n\n".join([COMPUTE, LONG, *HOSTILE])
    out = tmp_path_factory.mktemp("report")
    written = write_report(results, out, heading="How wide?", about=about, compute=compute)
    return {str(path.relative_to(out)): path.read_bytes() for path in written}


@pytest.fixture(scope="module")
def address(files: Mapping[str, bytes], tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page alone in a folder, as one gets it by mail."""
    path = tmp_path_factory.mktemp("mailed") / "report.html"
    path.write_bytes(files["report.html"])
    return path.as_uri()


@pytest.fixture
def opened(browser: Browser, address: str) -> Iterator[Open]:
    """An opener of the report; what the browser complains of or asks the network for fails the test."""
    contexts: list[Any] = []
    complaints: list[str] = []

    def start(*, width: int = 1280, dark: bool = False, script: bool = True) -> Page:
        context = browser.new_context(
            offline=True,
            viewport={"width": width, "height": 800},
            color_scheme="dark" if dark else "light",
            java_script_enabled=script,
        )
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console", lambda said: complaints.append(said.text) if said.type in {"error", "warning"} else None
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda asked: complaints.append(asked.url) if not local(asked.url) else None)
        page.goto(address)
        return page

    yield start
    for context in contexts:
        context.close()
    assert not complaints


def local(url: str) -> bool:
    return url.startswith(("file:", "data:"))


def column_of(page: Page, column: int) -> list[str]:
    return page.locator(f"{AMOUNTS} >> tbody tr > :nth-child({column})").all_inner_texts()


def test_it_opens_without_a_complaint(opened: Open) -> None:
    page = opened()
    assert page.title() == "How wide?"
    assert page.locator("h1").all_inner_texts() == ["How wide?"]
    assert page.locator("script").count() == 1
    assert page.locator("html[lang=en]").count() == 1


def test_every_image_is_there(opened: Open) -> None:
    images = opened().locator("img")
    assert images.count() >= 3
    assert all(image.evaluate("image => image.naturalWidth") > 0 for image in images.all())
    assert all(image.get_attribute("alt") for image in images.all())


def test_a_complaint_would_be_heard(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(empty_page("", {}, title="t").replace("</main>", '<img src="x.png" style="color:red"></main>'))
    said: list[str] = []
    page = browser.new_page()
    page.on("console", lambda message: said.append(message.type))
    page.goto(path.as_uri())
    page.close()
    assert said.count("error") >= 2


@pytest.mark.parametrize("key", ["click", "Enter", "Space"])
def test_a_header_sorts_and_sorts_back(opened: Open, key: str) -> None:
    page = opened()
    head = page.locator(f"{AMOUNTS} >> thead th:nth-child(2)")
    button = head.locator("button")

    def use() -> None:
        if key == "click":
            button.click()
        else:
            button.focus()
            page.keyboard.press(key)

    assert head.get_attribute("aria-sort") is None
    use()
    assert column_of(page, 2) == [*SORTED, "—"]
    assert head.get_attribute("aria-sort") == "ascending"
    use()
    assert column_of(page, 2) == [*SORTED[::-1], "—"]
    assert head.get_attribute("aria-sort") == "descending"


def test_another_header_takes_over(opened: Open) -> None:
    page = opened()
    buttons = page.locator(f"{AMOUNTS} >> thead button")
    buttons.nth(1).click()
    buttons.nth(0).click()
    assert column_of(page, 1) == ["a", "b", "c", "e", "f", LONG, "none"]
    assert page.locator("[aria-sort]").count() == 1
    buttons.nth(2).click()
    assert column_of(page, 1) == [name for name, _ in ROWS] + [LONG], "equal rows keep the order of the report"


def test_nothing_sticks_out_of_the_page(opened: Open) -> None:
    page = opened()
    box = page.locator(f"{AMOUNTS} >> xpath=..")
    for width in (320, 360, 768, 1023, 1024, 1280, 2000):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth"), width
        assert box.evaluate("box => box.scrollWidth > box.clientWidth"), "a wide table scrolls in its box"


def test_a_wide_table_uses_the_margin_and_text_does_not(opened: Open) -> None:
    page = opened()
    box, text, main = (page.locator(place) for place in (f"{AMOUNTS} >> xpath=..", "main > p >> nth=0", "main"))
    for width in (1280, 1600, 2000):
        page.set_viewport_size({"width": width, "height": 800})
        assert right_edge(box) == pytest.approx(max(right_edge(main), width - 16), abs=1), width
        assert text.bounding_box()["width"] <= 704
    assert right_edge(box) > right_edge(main) + 300


def right_edge(found: Locator) -> float:
    return found.evaluate("element => element.getBoundingClientRect().right")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 1280])
def test_a_shadow_tells_of_more_columns(opened: Open, width: int, dark: bool) -> None:
    box = opened(width=width, dark=dark).locator(f"{AMOUNTS} >> xpath=..")

    def corner(place: int) -> Any:
        """The colour at the top of the box, over all words, at the left or at the right edge."""
        shown = Image.open(BytesIO(box.screenshot())).convert("RGB")
        return shown.getpixel((place % shown.width, 1))

    assert corner(-2) != corner(2)
    box.evaluate("box => box.scrollBy(box.scrollWidth, 0)")
    assert corner(-2) == corner(2), "none at the last column"


@pytest.mark.parametrize(("width", "side"), [(360, False), (1280, True)])
def test_there_is_one_table_of_contents(opened: Open, width: int, side: bool) -> None:
    page = opened(width=width)
    assert page.locator("nav").is_visible() is side
    assert page.locator("details").is_visible() is not side
    if not side:
        assert not page.get_by_role("link", name="Method").is_visible()
        page.locator("summary").click()
    page.get_by_role("link", name="Method").click()
    assert page.locator("h2#method").evaluate("head => head.getBoundingClientRect().top") < 800


@pytest.mark.parametrize("dark", [False, True])
def test_a_dark_page_shows_the_dark_figure(opened: Open, files: Mapping[str, bytes], dark: bool) -> None:
    shown = opened(dark=dark).locator("#accuracy img").evaluate("image => image.currentSrc")
    name = "dark/accuracy.svg" if dark else "accuracy.svg"
    assert base64.b64decode(shown.partition(",")[2]) == files[name]


@pytest.mark.parametrize("script", [False, True])
def test_a_figure_opens_over_the_window_and_closes(opened: Open, script: bool) -> None:
    page = opened(width=360, script=script)
    image, close = page.locator("#minimal-width img"), page.locator("#minimal-width .close")
    view = page.locator("#minimal-width .view")
    assert not close.is_visible()
    image.click()
    assert image.bounding_box()["width"] > 900
    assert view.bounding_box() == {"x": 0, "y": 0, "width": 360, "height": 800}
    close.click()
    assert view.bounding_box()["width"] < 360
    assert not close.is_visible()
    if script:
        image.click()
        page.keyboard.press("Escape")
        assert not close.is_visible()


def test_a_wide_figure_scrolls_in_its_box_on_a_phone(opened: Open) -> None:
    page = opened(width=360)
    image, view = page.locator("#accuracy img"), page.locator("#accuracy .view")
    assert image.bounding_box()["width"] == pytest.approx(960, abs=1)
    assert page.evaluate("document.scrollingElement.scrollWidth") == 360
    assert view.evaluate("view => view.scrollWidth > view.clientWidth")
    full = page.locator("#accuracy .open span")
    before = full.bounding_box()
    view.evaluate("view => view.scrollBy(500, 0)")
    assert image.bounding_box()["x"] < -400
    assert full.bounding_box()["x"] == pytest.approx(before["x"], abs=1), "the words stay in view"
    page.set_viewport_size({"width": 1280, "height": 800})
    assert view.evaluate("view => view.scrollWidth <= view.clientWidth"), "and fits where there is room"


@pytest.mark.parametrize("name", ["minimal_width.csv", "solve_rate.csv"])
def test_files_are_inside(opened: Open, files: Mapping[str, bytes], name: str) -> None:
    page = opened()
    with page.expect_download() as coming:
        page.get_by_role("link", name=name, exact=True).first.click()
    assert coming.value.suggested_filename == name
    assert coming.value.path().read_bytes() == files[name]


def test_it_reads_without_a_script(opened: Open) -> None:
    page = opened(script=False)
    assert page.locator("th button").count() == 0
    assert page.locator("th", has_text="amount").is_visible()


@pytest.mark.parametrize("dark", [False, True])
def test_text_has_contrast(opened: Open, dark: bool) -> None:
    page = opened(dark=dark)
    for place in ("main p", "main p a", "nav a", "thead button", "tbody th", "tbody td", "code", ".open span"):
        assert contrast(*page.locator(place).first.evaluate(COLOURS, "")) >= 4.5, place
    assert contrast(*page.locator("thead button").first.evaluate(COLOURS, "::after")) >= 4.5
    ground = page.locator("body").evaluate(COLOURS, "")[1]
    assert (luminance(ground) < 0.05) is dark


COLOURS = """(element, part) => {
  const grounds = [];
  for (let at = element; at; at = at.parentElement) grounds.push(getComputedStyle(at).backgroundColor);
  return [getComputedStyle(element, part).color, grounds.find((ground) => ground !== "rgba(0, 0, 0, 0)")];
}"""


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def luminance(colour: str) -> float:
    """Relative luminance, as WCAG 2.2 defines it."""
    parts = [int(part) / 255 for part in colour.removeprefix("rgb(").removesuffix(")").split(",")]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))
