"""The report page in a real browser: light, dark, on a phone and on paper."""

import sys
from pathlib import Path

import pytest

from kernlab.lab.report import build_report

sys.path.append(str(Path(__file__).parents[1] / "report"))
import report_demo

PHONE = {"viewport": {"width": 390, "height": 844}, "is_mobile": True, "has_touch": True}

pytestmark = pytest.mark.browser

# WCAG's contrast between every visible text and what lies behind it, worst first.
LOW_CONTRAST = """() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].map((v) => v / 255);
  };
  const linear = (v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4);
  const luminance = (c) => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const colour = rgba(getComputedStyle(e).backgroundColor);
      if (colour[3] > 0.99) return colour;
    }
    return rgba('white');
  };
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const words = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!words || element.closest('dialog:not([open])') || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const [one, two] = [luminance(rgba(style.color)), luminance(behind(element))];
    const ratio = (Math.max(one, two) + 0.05) / (Math.min(one, two) + 0.05);
    const large = parseFloat(style.fontSize) >= 24;
    if (ratio < (large ? 3 : 4.5)) {
      const what = `${element.tagName} ${element.className}`;
      found.push(`${ratio.toFixed(2)} ${what} ${element.textContent.trim().slice(0, 40)}`);
    }
  }
  return found.sort();
}"""

# The shown rows of a table, each as the texts of its cells.
ROWS = """(table) => [...document.querySelectorAll(`${table} tbody tr`)]
  .filter((row) => !row.hidden)
  .map((row) => [...row.cells].map((cell) => cell.textContent.trim()))"""

# The numbers that one column of a table is sorted by; null where there is none.
NUMBERS = """([table, column]) => [...document.querySelectorAll(`${table} tbody tr`)]
  .map((row) => parseFloat(row.cells[column].dataset.value))
  .map((number) => (Number.isNaN(number) ? null : number))"""


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of a synthetic run."""
    out = tmp_path_factory.mktemp("a run with späces")
    with report_demo.own_registry() as studies:
        report_demo.build(out, studies)
        return build_report("quick", out)


@pytest.fixture
def open_page(browser, report):
    """Opens the report with some settings; nothing may complain, ask or be loaded meanwhile."""
    complaints, contexts = [], []

    def open_it(fragment="", **settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda m: complaints.append(f"console {m.type}: {m.text}"))
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        page.on("request", lambda request: complaints.extend(_foreign(request.url, report)))
        page.goto(report.as_uri() + fragment)
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert complaints == []


def _foreign(url, report):
    own = url.startswith("data:") or url.partition("#")[0] == report.as_uri()
    return [] if own else [f"request: {url}"]


def shoot(page, artefacts, name, **settings):
    page.screenshot(path=artefacts / f"report-{name}.png", **settings)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_can_be_read(open_page, artefacts, scheme):
    page = open_page(color_scheme=scheme, viewport={"width": 1280, "height": 900})
    shoot(page, artefacts, scheme, full_page=True)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate(LOW_CONTRAST) == []
    page.locator(".status").first.click()
    assert page.evaluate(LOW_CONTRAST) == []


@pytest.mark.parametrize("width", [390, 1920])
def test_the_page_never_scrolls_sideways(open_page, artefacts, width):
    page = open_page(**(PHONE | {"viewport": {"width": width, "height": 844}}))
    if width == 390:
        shoot(page, artefacts, "phone", full_page=True)
    page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    if width < 1000:  # tables are wider than that: they scroll inside their card
        inside = (
            "[...document.querySelectorAll('.scroll')].some((s) => s.scrollWidth > s.clientWidth)"
        )
        assert page.evaluate(inside)


def test_a_phone_shows_each_number_without_scrolling(open_page):
    page = open_page("#lasn-t4", **PHONE)
    row = page.locator("#lasn-t4 tbody tr:has(td:nth-child(4):not(:empty))").first
    shown = 0
    for cell in range(9):
        place = row.locator("th, td").nth(cell)
        box = place.bounding_box()
        # The difference is left out: the reason says it in words.
        if cell == 4 or place.text_content() == "":
            assert box is None
        else:
            assert 0 <= box["x"] < box["x"] + box["width"] <= 390
            shown += 1
    assert shown >= 5


def test_finding_numbers_by_words(open_page):
    page = open_page()
    page.get_by_label("Find").fill("LASN-T4 a9a accuracy")
    shown = page.evaluate(ROWS, "#lasn-t4")
    assert {row[0] for row in shown} == {"a9a"}
    assert all("accuracy" in row[1] for row in shown)
    alone = page.locator("#lasn-t4 .alone li:visible").count()
    assert page.locator("#found").inner_text().startswith(f"{len(shown) + alone} of ")
    assert page.locator("details.published:visible").count() == 1
    assert page.locator("#gallery figure:visible").count() == 0, "it searches figures too"
    assert page.locator("#lasn-t4").evaluate("d => d.open"), "what was found is shown"
    page.get_by_label("Find").fill("")
    assert page.locator("details.published:visible").count() > 40
    assert page.locator("#found").inner_text() == ""


def test_choosing_statuses(open_page):
    page = open_page()
    for status in ("not run", "reproduced", "better"):
        page.get_by_role("button", name=status, exact=True).click()
    shown = page.evaluate(ROWS, "#scorecard")
    assert shown
    assert {row[6].split()[-1] for row in shown} == {"different"}
    page.get_by_role("button", name="different", exact=True).click()
    assert page.evaluate(ROWS, "#scorecard") == []


def click_heading(page, table, name):
    heading = page.locator(f"{table} th[scope=col]", has_text=name)
    heading.get_by_role("button").click()
    return heading


def test_sorting_a_study_by_size_and_with_gaps(open_page):
    page, table = open_page("#table-lasn-t4"), "#table-lasn-t4"
    for name in ("fit_seconds", "peak_bytes"):
        for descending in (False, True):
            column = click_heading(page, table, name).evaluate("th => th.cellIndex")
            numbers = page.evaluate(NUMBERS, [table, column])
            assert numbers[-3:] == [None] * 3, "what is empty stays last in both directions"
            assert numbers[:-3] == sorted(numbers[:-3], reverse=descending)
    for _ in range(2):
        column = click_heading(page, table, "message").evaluate("th => th.cellIndex")
        texts = [row[column] for row in page.evaluate(ROWS, table)]
        assert all(texts[:3]), "texts come before what is empty"
        assert not any(texts[3:])


def test_enlarging_a_figure_by_keyboard_alone(open_page, artefacts):
    page = open_page()
    first = page.locator(".zoom").first
    first.focus()
    page.keyboard.press("Enter")
    box = page.locator("#lightbox")
    assert box.evaluate("d => d.open")
    large = box.locator("img")
    assert large.get_attribute("alt") == first.locator("img").get_attribute("alt")
    shoot(page, artefacts, "enlarged")
    page.keyboard.press("ArrowRight")
    assert large.get_attribute("alt") != first.locator("img").get_attribute("alt")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    last = page.locator(".zoom").last
    assert large.get_attribute("alt") == last.locator("img").get_attribute("alt")
    page.keyboard.press("Escape")
    assert not box.evaluate("d => d.open")
    assert last.evaluate("b => b === document.activeElement"), "the focus goes to the figure seen"


def test_without_script_everything_is_there_to_read(open_page):
    page = open_page(java_script_enabled=False)
    assert page.locator(".toolbar").is_hidden()
    assert page.locator("#theme").is_hidden()
    page.locator("#lasn-t4 summary").click()
    page.locator("#lasn-t4 tbody tr").first.wait_for(state="visible")


def test_on_paper_the_scorecard_takes_one_page(open_page, artefacts):
    page = open_page(color_scheme="dark")
    page.pdf(path=artefacts / "report-print.pdf", prefer_css_page_size=True)
    assert (artefacts / "report-print.pdf").read_bytes().count(b"/Type /Page\n") == 1
    page.emulate_media(media="print")
    for hidden in ("nav", ".toolbar", "#theme", "#gallery", "#tables"):
        assert page.locator(hidden).is_hidden()
    assert page.locator(".paper").first.is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
