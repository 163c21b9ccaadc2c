"""Algebra, scaling and errata: what they say holds, and can fail."""

import numpy as np
import pandas as pd
import pytest
from drawn_figures import assert_drawn
from quick_rows import measured, table_of

from kernlab.approximations import APPROXIMATIONS
from kernlab.lab.catalogue import FIGURES, STUDIES, get_study
from kernlab.lab.papers.across.algebra import disagreement, reason
from kernlab.lab.papers.across.costs import exponents
from kernlab.lab.papers.across.errata import CORRECTED, ERRATA, PRINTED
from kernlab.solvers import SOLVERS


@pytest.fixture(scope="module")
def pairs():
    study = get_study("algebra", approximations=["nystrom", "fourier", "hss"], rows=200)
    return table_of(study, statuses=("ok", "not run"))


def test_every_pair_works_or_says_what_is_missing(pairs):
    for row in pairs.itertuples():
        why = reason(row.approximation, row.solver)
        assert (row.status == "ok") == (not why)
        assert not why or why.removeprefix("no ") in row.message
    assert len(STUDIES["algebra"].grid("quick")) == len(APPROXIMATIONS) * len(SOLVERS)


def test_solvers_of_one_problem_find_one_objective(pairs):
    features = pairs[pairs["approximation"].isin(["nystrom", "fourier"])]
    assert disagreement(features).max() < 3e-3
    assert_drawn(FIGURES["algebra"][0].draw(pairs))


def test_a_power_law_is_found_with_its_error():
    sizes = np.array([10, 100, 1000, 10_000, 100_000])
    table = pd.DataFrame({"size": sizes, "fit_seconds": 2e-6 * sizes**1.5})
    found = exponents(table.assign(method="LASN", variant="rows", dial=1)).iloc[0]
    assert found["exponent"] == pytest.approx(1.5)
    assert found["standard_error"] == pytest.approx(0.0, abs=1e-9)
    assert found["largest"] == 100_000


def test_scaling_runs_and_is_drawn():
    methods = ["LASN", "LIBSVM", "linear"]
    table = table_of(get_study("scaling", methods=methods, sizes=[200, 400], ranks=[20, 40]))
    assert (table["status"] == "ok").all()
    assert set(table[table["variant"] == "rows"]["n_train"]) == {200, 400}
    assert_drawn(FIGURES["scaling"][0].draw(table))


@pytest.fixture(scope="module")
def misprints():
    return measured("errata")[1]


# What the corrected formula gains, as last printed and last corrected value.
GAINS = {
    "lasn 2": lambda printed, corrected: printed == pytest.approx(2 * corrected, rel=0.05),
    "lasn 4": lambda printed, corrected: corrected < 1e-12 < 1e-10 < printed,
    "lasn 10": lambda printed, corrected: corrected < printed / 3,
    "sparse 18": lambda printed, corrected: corrected < 0.2 < 0.8 < printed,
    "hss 24": lambda printed, corrected: corrected < printed - 0.1,
    "hss 25": lambda printed, corrected: abs(printed) < 1e-9 < 100 < corrected,
    "hss 27": lambda printed, corrected: corrected < 0.01 < 0.1 < printed,
    "fpc 30": lambda printed, corrected: corrected < printed - 0.1,
    "fpc 31": lambda printed, corrected: corrected < 0.8 * printed,
}


@pytest.mark.parametrize("name", GAINS)
def test_a_misprint_costs_what_is_said(misprints, name):
    last = misprints[misprints["method"] == name].groupby("variant")["value"].last()
    assert GAINS[name](last[PRINTED], last[CORRECTED])


def test_every_misprint_differs_and_is_drawn(misprints):
    for name in ERRATA:
        values = misprints[misprints["method"] == name].groupby("variant")["value"].agg(list)
        assert values[PRINTED] != values[CORRECTED]
    assert_drawn(FIGURES["errata"][0].draw(misprints))
