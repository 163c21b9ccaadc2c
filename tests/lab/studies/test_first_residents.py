"""The first studies: equivalences hold and can fail, margins are margins, counts are right."""

import numpy as np
import pytest
from quick_rows import measured, table_of

from kernlab.datasets import dataset_available
from kernlab.lab.catalogue import STUDIES
from kernlab.lab.papers.common import theory
from kernlab.lab.published import published
from kernlab.lab.report.scoring import score

EQUIVALENCES = ("llsvm-prop1", "lasn-thm1")
DATA_TABLES = ("llsvm-t2", "lasn-t1", "lasn-t2", "sparse-t1", "hss-t1", "fpc-t1")


@pytest.mark.parametrize("name", EQUIVALENCES)
def test_a_machine_on_any_factor_is_the_kernel_machine(name):
    study = STUDIES[name]
    _, table = measured(name, lambda point: point.dataset != "magic")
    assert set(table["variant"]) == set(theory.FACTORS)
    assert table["agreement"].min() == 1.0
    assert table["dual_difference"].max() < 1e-8
    assert table["decision_difference"].max() < 1e-5
    assert table["gap"].max() < 1e-6
    assert table["test_accuracy"].min() > 0.9
    assert study.key_figures(table)["agreement of the decisions"] == "100.0 %"


def test_the_comparison_notices_a_factor_of_another_kernel(monkeypatch):
    study = STUDIES["llsvm-prop1"]
    point = next(point for point in study.grid("quick") if point.variant == "eigenvectors")
    real = theory.factor

    def wrong(kind, matrix, exact):
        to_features = real(kind, matrix, exact)
        return lambda X: to_features(X)[:, -3:]

    monkeypatch.setattr(theory, "factor", wrong)
    table = table_of(study, [point])
    assert table["decision_difference"].max() > 0.1
    assert table["factor_error"].max() > 0.1


def test_margins_are_margins():
    _, table = measured("sparse-margin")
    assert table["gap"].abs().max() < 1e-4
    hard = table[table["variant"] == "hard"]
    assert hard["margin"].min() == pytest.approx(1.0, abs=1e-4)
    for _, rows in table.groupby("variant"):
        # w is the sum of the dual variables times labels times rows: the picture is the machine.
        weights = (rows["dual"] * rows["label"]).to_numpy() @ rows[["x1", "x2"]].to_numpy()
        np.testing.assert_allclose(weights, rows.iloc[0][["w1", "w2"]].astype(float), rtol=1e-6)
        assert rows["width"].iloc[0] == pytest.approx(2 / np.linalg.norm(weights))
    widths = table.groupby("variant")["width"].first()
    assert widths["soft"] > widths["soft, stricter"]


@pytest.mark.parametrize("name", DATA_TABLES)
def test_sets_that_come_with_kernlab_are_the_papers(name):
    if not STUDIES[name].grid("quick"):
        pytest.skip(f"none of the sets of {name} comes with kernlab")
    _assert_reproduced(*measured(name))


@pytest.mark.parametrize("name", DATA_TABLES)
def test_real_sets_are_the_papers(name, real_data):
    """Where a printed number is not that of the file, the published table notes it."""
    study = STUDIES[name]
    points = [p for p in study.grid("standard") if dataset_available(p.dataset)]
    small = [p for p in points if p.dataset not in ("covtype-2", "checkerboard", "swiss-roll-1")]
    _assert_reproduced(study, table_of(study, small))


def _assert_reproduced(study, table):
    measured = study.measured(table)
    assert len(measured) > 0
    scored = score(published(study.id), measured, study.tolerances)
    run = scored[scored["status"] != "not run"]
    different = run[run["status"] == "different"]
    noted = published(study.id).set_index(["row", "column"])["note"]
    unexplained = [
        (row, column)
        for row, column in zip(different["row"], different["column"], strict=True)
        if "the file has" not in noted[row, column]
    ]
    assert not unexplained
    assert (run["status"] == "reproduced").any()
