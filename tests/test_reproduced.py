"""What a reproduction left: every table, figure, notebook and the report are there and whole."""

import json
import os
import re

import pytest

from kernlab.lab.catalogue import FIGURES, STUDIES
from kernlab.lab.report.notebooks.files import notebook_paths
from kernlab.paths import output_dir

PROFILE = "quick"
FOLDER = output_dir(PROFILE)

pytestmark = pytest.mark.skipif(
    os.environ.get("KERNLAB_CHECK_REPRODUCED") != "1",
    reason="checks the output of `make reproduce`: set KERNLAB_CHECK_REPRODUCED=1 after it",
)


def computed():
    """The studies that have points under the profile."""
    return [id for id, study in STUDIES.items() if study.grid(PROFILE)]


@pytest.mark.parametrize("id", computed())
def test_every_study_left_its_table_and_provenance(id):
    assert (FOLDER / "tables" / f"{id}.csv").stat().st_size > 100
    provenance = json.loads((FOLDER / "tables" / f"{id}.provenance.json").read_text())
    points = provenance["points"]
    # A peer that is not installed, or a fit beyond its cap, is a row that says so.
    assert points["ok"] + points.get("not run", 0) == points["in the grid"]
    assert points["ok"] > points.get("not run", 0)


@pytest.mark.parametrize("id", [id for id in computed() if id in FIGURES])
def test_every_figure_is_there_as_png_and_svg(id):
    for spec in FIGURES[id]:
        assert (FOLDER / "figures" / f"{spec.stem}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (FOLDER / "figures" / f"{spec.stem}.svg").read_text()[:2000]


def test_every_notebook_was_executed():
    for path in notebook_paths().values():
        executed = json.loads((FOLDER / "notebooks" / path.name).read_text())
        code = [cell for cell in executed["cells"] if cell["cell_type"] == "code"]
        assert all(cell["execution_count"] for cell in code)
        assert "profile quick: " in json.dumps(code[-1]["outputs"])
        assert "<html" in (FOLDER / "notebooks" / path.with_suffix(".html").name).read_text()[:500]


def test_the_report_is_one_page_with_a_scorecard():
    page = (FOLDER / "index.html").read_text()
    assert len(page) > 100_000
    assert "Scorecard" in page
    assert set(re.findall(r'<(\w+)[^>]* (?:src|href)="http', page)) <= {"a"}, "it loads nothing"
