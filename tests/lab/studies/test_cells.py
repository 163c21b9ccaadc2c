"""Measured cells: in the paper's units, and left out with a reason where they say nothing."""

import numpy as np
import pandas as pd
import pytest

from kernlab.lab.catalogue import STUDIES
from kernlab.lab.papers.common.cells import growth_cell
from kernlab.lab.published import published
from kernlab.lab.report.scoring import score


def rows_of(rows, method="LLSVM", dataset="webspam"):
    row = {
        "dataset": dataset,
        "method": method,
        "rows": rows,
        "variant": "one pass",
        "n_train": 4000,
    }
    return pd.DataFrame([row | {"error": e, "fit_seconds": 2880.0} for e in (0.0204, 0.0206)])


def test_llsvms_table_compares_hours_with_hours_and_small_rows_with_nothing():
    study = STUDIES["llsvm-t3"]
    card = score(published(study.id), study.measured(rows_of("the paper's")), study.tolerances)
    card = card.set_index(["row", "column"])
    assert card.loc[("webspam", "LLSVM time"), "status"] == "reproduced"
    assert card.loc[("webspam", "LLSVM error"), "measured"] == pytest.approx(2.05)
    assert "2 repeats" in card.loc[("webspam", "LLSVM error sd"), "reason"]
    small = rows_of("the file's", dataset="checkerboard")
    card = score(published(study.id), study.measured(small), study.tolerances)
    card = card.set_index(["row", "column"])
    assert card.loc[("checkerboard", "LLSVM error"), "status"] == "not run"
    assert "4,000 rows" in card.loc[("checkerboard", "LLSVM error"), "reason"]


@pytest.mark.parametrize("power", [1.0, 2.0])
def test_growth_is_the_exponent_from_many_landmarks_on(power):
    k = np.array([50, 100, 200, 500, 1000])
    seconds = np.where(k < 200, 7.0, 1e-3 * k**power)
    table = pd.concat(
        pd.DataFrame({"dataset": name, "k": k, "fit_seconds": c * seconds})
        for name, c in (("a9a", 1.0), ("w8a", 3.0))
    )
    assert growth_cell(table, "k")[2] == pytest.approx(power)
    assert "200 landmarks" in growth_cell(table[table["k"] <= 500], "k")[3]
    assert np.isnan(growth_cell(table.iloc[:0], "k")[2])


def test_where_accuracy_settles_and_time_rises_is_read_from_the_curve():
    costs = [1e-2, 1e-1, 1.0, 10.0, 100.0, 1000.0]
    table = pd.DataFrame({"C": costs, "fit_seconds": [1, 1.1, 1.2, 1.3, 4.0, 6.0]})
    table["test_accuracy"] = [0.7, 0.79, 0.8, 0.81, 0.812, 0.809]
    study = STUDIES["lasn-f5"]
    measured = study.measured(table.assign(dataset="a9a")).set_index("column")["value"]
    assert measured.to_dict() == {
        "stable from C": 10.0,
        "C of the steep rise from": 10.0,
        "C of the steep rise to": 100.0,
    }
    assert study.measured(table.assign(dataset="magic"))["value"].isna().all()


def fpc_rows(method, budget, repeats):
    row = {"dataset": "magic", "method": method, "budget": budget, "fit_seconds": 1.0}
    row |= {"predict_seconds": 0.1, "sparsity": 55, "test_accuracy": 0.85}
    return pd.DataFrame([row] * repeats)


def test_fpcs_tables_compare_like_with_like():
    coarse = pd.concat([fpc_rows("SVM-RBF", "coarse", 2), fpc_rows("FPC", "coarse", 20)])
    t2, t3, t4 = (STUDIES[f"fpc-t{i}"].measured(coarse).set_index("column") for i in (2, 3, 4))
    assert t2.loc["SVM-RBF accuracy", "value"] == pytest.approx(85.0)
    assert "2 repeats" in t2.loc["SVM-RBF accuracy sd", "reason"]
    assert t2.loc["FPC accuracy sd", "value"] == pytest.approx(0.0)
    assert "121 settings" in t3.loc["SVM-RBF training time", "reason"]
    assert t3.loc["FPC training time", "value"] == 1.0
    assert t4.loc["FPC sparsity", "value"] == 55
    assert "coarser grid" in t4.loc["SVM-RBF sparsity", "reason"]
    small = pd.concat([fpc_rows("SVM-RBF", "small", 5), fpc_rows("FPC", "small", 5)])
    t2 = STUDIES["fpc-t2"].measured(small).set_index("column")
    assert "coarse grid" in t2.loc["SVM-RBF accuracy", "reason"]
    assert t2.loc["FPC accuracy", "value"] == pytest.approx(85.0)


def test_what_differs_by_a_slip_of_the_text_says_so():
    study = STUDIES["sparse-cost"]
    card = score(published(study.id), study.measured(None), study.tolerances)
    card = card.set_index(["row", "column"])
    assert card.loc[("sparse kernel", "memory"), "status"] == "different"
    assert "a slip of the text" in card.loc[("sparse kernel", "memory"), "reason"]
