"""A real JupyterLab in Chromium: notebooks run, sliders move, points are dragged, all follows."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request

import nbformat
import pytest

from kernlab import paths
from kernlab.lab.explorers import EXPLORERS
from kernlab.lab.explorers.base import RUNNER_VARIABLE
from kernlab.lab.report.notebooks.html import write_html

NOTEBOOK = "00_start_here.ipynb"
TOKEN = "a-token-for-this-test"
MINUTE = 60_000  # milliseconds

# A number for what an image shows: its address may change though its bytes do not.
PIXELS = """async (image) => {
  const address = image.src || image.getAttribute("href");
  const bytes = new Uint8Array(await (await fetch(address)).arrayBuffer());
  return bytes.reduce((digest, byte) => (31 * digest + byte) | 0, bytes.length);
}"""

pytestmark = [pytest.mark.browser, pytest.mark.timeout(400)]


@pytest.fixture(scope="module")
def lab(tmp_path_factory):
    """The address of a JupyterLab on a notebook."""
    place = tmp_path_factory.mktemp("lab")
    notebooks = place / "notebooks"
    notebooks.mkdir()
    nbformat.write(_notebook_with_all_explorers(), notebooks / NOTEBOOK)
    _keep_all_cells_in_the_page(place / "settings")
    settings = {
        "KERNLAB_OUT": str(place / "figures"),
        "JUPYTER_CONFIG_DIR": str(place / "config"),
        "JUPYTER_DATA_DIR": str(place / "data"),
        "JUPYTERLAB_SETTINGS_DIR": str(place / "settings"),
        "JUPYTERLAB_WORKSPACES_DIR": str(place / "workspaces"),
        "IPYTHONDIR": str(place / "ipython"),
    }
    log = (place / "log").open("w+")
    server = subprocess.Popen(
        [
            sys.executable,
            "-m",
            "jupyterlab",
            "--no-browser",
            "--allow-root",
            "--ip=127.0.0.1",
            "--port=0",
            f"--IdentityProvider.token={TOKEN}",
            f"--ServerApp.root_dir={notebooks}",
            "--LabApp.news_url=",
            "--LabApp.extension_manager=readonly",
        ],
        env=os.environ | settings,
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    try:
        yield _address_of(server, place / "log")
    finally:
        server.terminate()
        server.wait(timeout=20)
        log.close()


def _notebook_with_all_explorers():
    """The first notebook, and below it a cell for each explorer, marked with its name."""
    notebook = nbformat.read(paths.notebooks_dir() / NOTEBOOK, as_version=4)
    cells = ["from kernlab.lab.explorers import EXPLORERS"]
    for name in EXPLORERS:
        made = f"explorer = EXPLORERS[{name!r}]()"
        cells.append(f"{made}\nexplorer.widget.add_class({_marked(name)!r})\nexplorer")
    cells.append("print('all', 'explorers', 'shown')")
    notebook.cells += [nbformat.v4.new_code_cell(cell) for cell in cells]
    return notebook


def _marked(name):
    return f"explorer-{name.replace('_', '-')}"


def _keep_all_cells_in_the_page(settings):
    """JupyterLab takes cells out of sight out of the page; a test wants to find them all."""
    folder = settings / "@jupyterlab" / "notebook-extension"
    folder.mkdir(parents=True)
    chosen = json.dumps({"windowingMode": "none"})
    (folder / "tracker.jupyterlab-settings").write_text(chosen)


def _answers(address):
    """Whether the server answers already: it may name its address before it listens there."""
    try:
        with urllib.request.urlopen(f"{address}api?token={TOKEN}", timeout=20):
            return True
    except OSError:
        return False


def _address_of(server, log):
    """Wait until the server has said where it listens, and answers there."""
    for _ in range(240):
        text = log.read_text()
        match = re.search(r"http://127\.0\.0\.1:\d+/", text)
        if match and _answers(match[0]):
            return match[0]
        assert server.poll() is None, f"JupyterLab stopped:\n{text[-2000:]}"
        time.sleep(0.25)
    raise AssertionError(f"JupyterLab did not start:\n{log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def page(browser, lab):
    """The notebook, run by a live kernel; what the browser complains of is in `errors`."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    page.errors, page.gave_up = [], pytest.importorskip("playwright.sync_api").TimeoutError
    page.on("pageerror", lambda error: page.errors.append(str(error)))
    page.on("console", lambda message: _note(page.errors, message))
    page.goto(f"{lab}lab/tree/{NOTEBOOK}?token={TOKEN}")
    run_all_cells(page)
    page.get_by_text("all explorers shown").wait_for(timeout=4 * MINUTE)
    yield page
    page.close()


def _note(errors, message):
    if message.type == "error":
        errors.append(message.text)


def run_all_cells(page):
    page.locator(".jp-Notebook").first.wait_for(timeout=2 * MINUTE)
    page.get_by_text("Python 3 (ipykernel) | Idle").first.wait_for(timeout=2 * MINUTE)
    page.get_by_role("menuitem", name="Run", exact=True).click()
    page.get_by_role("menuitem", name=re.compile("^Run All Cells")).click()


def picture_of(explorer):
    """The image that an explorer shows: by itself, or below points that can be moved."""
    return explorer.locator(".kernlab-plane image, .kernlab-stage img:not([width='1'])").first


def unharmed(page):
    """Whether nothing complains. A bar of progress, shown where a loaded machine takes its time,
    leaves blanks."""
    said = page.locator("[data-mime-type='application/vnd.jupyter.stderr']").all_inner_texts()
    failed = page.locator("[data-mime-type='application/vnd.jupyter.error']").count()
    return page.errors == [] and not failed and not "".join(said).strip()


def follows(page, picture, before):
    changed = f"async ([image, before]) => await ({PIXELS})(image) !== before"
    try:
        page.wait_for_function(changed, arg=[picture.element_handle(), before], timeout=20_000)
    except page.gave_up:
        return False
    return True


def move_a_widget(page, explorer, picture, before):
    """Move the first slider, up or, where that is its end, down; else choose another option."""
    sliders = explorer.locator(".noUi-handle")
    if sliders.count() == 0:
        explorer.locator("select").first.select_option(index=1)
        return follows(page, picture, before)
    for key in ("ArrowRight", "ArrowLeft"):
        sliders.first.focus()
        for _ in range(2):
            page.keyboard.press(key)
        if follows(page, picture, before):
            return True
    return False


def test_the_notebook_runs_with_its_playground(page):
    page.get_by_text("profile quick: complete").last.wait_for(timeout=MINUTE)
    explorer = page.locator(".kernlab-explorer").first
    explorer.scroll_into_view_if_needed()
    explorer.locator(".kernlab-caption").filter(has_text="duality gap").wait_for(timeout=MINUTE)
    picture = picture_of(explorer)
    assert move_a_widget(page, explorer, picture, picture.evaluate(f"({PIXELS})"))
    assert unharmed(page)


@pytest.mark.parametrize("name", EXPLORERS)
def test_every_explorer_follows_a_widget(page, artefacts, name):
    explorer = page.locator(f".{_marked(name)}")
    explorer.wait_for(timeout=MINUTE)
    explorer.scroll_into_view_if_needed()
    picture = picture_of(explorer)
    picture.wait_for(timeout=MINUTE)
    before = picture.evaluate(f"({PIXELS})")
    assert move_a_widget(page, explorer, picture, before), "no picture followed the widget"
    assert "Not drawn" not in explorer.locator(".kernlab-caption").inner_text()
    page.screenshot(path=artefacts / f"explorer-{name}.png")
    # Beside the controls, and named for readers of the screen.
    panel, stage = (
        explorer.locator(f".kernlab-{part}").bounding_box() for part in ("panel", "stage")
    )
    assert stage["x"] >= panel["x"] + panel["width"]
    assert abs(stage["y"] - panel["y"]) < 5
    for handle in explorer.locator(".noUi-handle").all():
        assert handle.get_attribute("aria-label")
    assert explorer.locator("img").first.get_attribute("alt")
    assert unharmed(page)


def test_points_are_added_by_a_click_and_dragged(page, artefacts):
    explorer = page.locator(f".{_marked('playground')}")
    explorer.scroll_into_view_if_needed()
    explorer.get_by_role("button", name="code").click()
    code, picture = explorer.locator("pre"), picture_of(explorer)
    place = explorer.locator(".kernlab-plane").bounding_box()

    def at(across, up):
        return place["x"] + across * place["width"], place["y"] + (1.0 - up) * place["height"]

    for move, expected in ((None, (0.0, 0.0)), ((0.75, 0.25), (1.35, -1.35))):
        before = picture.evaluate(f"({PIXELS})")
        if move is None:
            page.mouse.click(*at(0.5, 0.5))
        else:
            page.mouse.move(*at(0.5, 0.5))
            page.mouse.down()
            page.mouse.move(*at(0.6, 0.4))
            page.mouse.move(*at(*move))
            page.mouse.up()
        assert follows(page, picture, before)
        code.filter(has_text="points = ").wait_for(timeout=MINUTE)
        page.wait_for_timeout(500)
        x, y, label = re.search(r"points = np.array\(\[\((.*?)\)", code.inner_text())[1].split(", ")
        assert (float(x), float(y)) == pytest.approx(expected, abs=0.08)
        assert label == "-1"
    page.screenshot(path=artefacts / "playground-dragged.png")
    explorer.get_by_role("button", name="remove points").click()
    code.filter(has_not_text="points").wait_for(timeout=MINUTE)
    assert unharmed(page)


def test_a_setting_is_pinned_and_reset(page, artefacts):
    explorer = page.locator(f".{_marked('newton')}")
    explorer.scroll_into_view_if_needed()
    explorer.get_by_role("button", name="reset").click()
    explorer.get_by_role("button", name="pin").click()
    pinned = explorer.locator(".kernlab-pinned")
    pinned.filter(has_text="pinned:").wait_for(timeout=MINUTE)
    picture = picture_of(explorer)
    assert move_a_widget(page, explorer, picture, picture.evaluate(f"({PIXELS})"))
    assert "k 100" in pinned.inner_text()
    kept = pinned.locator("img").evaluate(f"({PIXELS})")
    give_up = time.monotonic() + 30
    while picture.evaluate(f"({PIXELS})") == kept:  # the picture of the reset may come late
        assert time.monotonic() < give_up, "the picture is still the one that is pinned"
        page.wait_for_timeout(100)
    page.screenshot(path=artefacts / "explorer-pinned.png")


def test_frames_move_without_python(browser, artefacts, tmp_path, monkeypatch):
    monkeypatch.setenv(RUNNER_VARIABLE, "a notebook")
    explorer, file = EXPLORERS["fpc_degrees"](), tmp_path / "copy.html"
    shown = nbformat.v4.new_output("display_data", explorer.bundle(), metadata=explorer.metadata())
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("", outputs=[shown])])
    write_html(notebook, file)
    page = browser.new_page()
    page.goto(file.as_uri())
    layer = page.locator(".kernlab-frames img").nth(1)
    page.get_by_label("degree s").focus()
    assert layer.is_hidden()
    page.keyboard.press("Home")
    assert layer.is_visible()
    assert "One label in ten is wrong" in page.locator(".kernlab-frames p").inner_text()
    assert page.get_by_label("degree s").get_attribute("aria-valuetext") == "1"
    page.screenshot(path=artefacts / "frames.png")
    page.close()
