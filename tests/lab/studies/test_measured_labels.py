"""Every study that compares itself with its paper uses the labels of the paper's table.

A label that the published table does not have is a measured number that answers to none. Labels
depend on the points of a grid, hardly ever on what was measured at them: so a few cheap rows of the
quick profile, laid on every point of the other profiles, show all labels that those would use.
"""

import pytest
from quick_rows import kept_record

from kernlab.lab.catalogue import STUDIES
from kernlab.lab.engine.rows import to_frame
from kernlab.lab.published import published, published_ids
from kernlab.lab.report.scoring import score

COMPARED = [id for id, study in STUDIES.items() if study.measured is not None]


def rows_by_method(id):
    """What the first quick point of each method measures."""
    rows = {}
    for point in STUDIES[id].grid("quick"):
        if point.method not in rows and kept_record(id, point)["status"] == "ok":
            rows[point.method] = kept_record(id, point)["rows"]
    return rows


def supposed_table(id, profile):
    """The table that a profile would give if all its points measured what the quick ones did."""
    study, known = STUDIES[id], rows_by_method(id)
    if not known:
        pytest.skip(f"{id} measures nothing under the quick profile here")
    anything = next(iter(known.values()))
    rows, names = [], {}
    for point in study.grid(profile):
        names |= dict.fromkeys(point.parameters)
        about = {"study": id, "dataset": point.dataset, "method": point.method}
        about |= {"variant": point.variant, "repeat": point.repeat, "status": "ok"}
        rows += [about | point.parameters | row for row in known.get(point.method, anything)]
    table = to_frame(rows, tuple(names))
    return table.assign(cv_accuracy=table["cv_accuracy"].fillna(0.5))  # what some grids choose by


@pytest.mark.parametrize("profile", ["quick", "standard", "paper"])
@pytest.mark.parametrize("id", COMPARED)
def test_measured_labels_are_published_ones(id, profile):
    assert id in published_ids()
    table = supposed_table(id, profile)
    if table.empty:
        pytest.skip(f"{id} has no points under {profile}")
    measured = STUDIES[id].measured(table)
    scored = score(published(id), measured, STUDIES[id].tolerances)
    assert scored.attrs["unmatched"] == []
    if profile == "standard":
        assert len(measured) > 0
