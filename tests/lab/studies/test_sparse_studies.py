"""The sparse thesis' studies: what they measure is what they say, by other ways of computing it."""

from math import comb

import numpy as np
import pandas as pd
import pytest
import quick_rows
from quick_rows import table_of
from scipy.spatial.distance import cdist
from sklearn.model_selection import StratifiedKFold, cross_val_score

from kernlab import SparseCholeskySVC, load_dataset
from kernlab.datasets import Dataset
from kernlab.lab.catalogue import FIGURES, STUDIES
from kernlab.lab.engine import Point
from kernlab.lab.papers.sparse import shatter as sparse_shatter
from kernlab.lab.papers.sparse import suited as sparse_suited
from kernlab.lab.papers.sparse import table as sparse_table
from kernlab.lab.papers.sparse.matrix import (
    DENSE_ROWS,
    SIGMA,
    arrowhead_matrix,
    roll,
    sigma_for,
)
from kernlab.lab.published import published
from kernlab.lab.report.scoring import score


def measured(name):
    """The tidy rows of a study's quick points."""
    return quick_rows.measured(name)[1]


SHOWN = [name for name in STUDIES if name.startswith("sparse-") and name in FIGURES]


@pytest.mark.parametrize("name", SHOWN)
def test_every_figure_is_drawn_and_every_key_figure_is_text(name):
    figures = quick_rows.drawn(name, measured(name))
    assert figures
    assert all(isinstance(text, str) and text and "nan" not in text for text in figures.values())


# ------------------------------------------------------------------------ limits and radii
def by_hand(X, sigma, alpha, power):
    """Equation 38, one pair at a time by other means than the package's."""
    d = cdist(X, X)
    return np.maximum(0.0, 1.0 - alpha * d) ** power * np.exp(-(d**2) / (2 * sigma**2))


def test_limits_are_those_of_the_lemma():
    table = measured("sparse-l31").sort_values("alpha_sigma")
    assert table["to_gaussian"].is_monotonic_increasing
    assert table["to_identity"].is_monotonic_decreasing
    assert table["to_gaussian"].iloc[0] < 0.01
    assert table["to_limit"].iloc[-1] < 1e-6
    assert table["smallest_eigenvalue"].min() > 0
    X, row = roll(DENSE_ROWS)[0], table.iloc[14]
    K = by_hand(X, SIGMA, row["alpha_sigma"] / SIGMA, 3)
    gaussian = np.exp(-(cdist(X, X) ** 2) / (2 * SIGMA**2))
    assert row["to_gaussian"] == pytest.approx(
        np.sqrt(((K - gaussian) ** 2).sum() / (gaussian**2).sum()), rel=1e-6
    )
    assert row["sparsity"] == np.mean(K == 0.0)


def test_radii_are_sums_off_the_diagonal():
    table = measured("sparse-l33")
    assert table["never_larger"].all()
    assert (table["compact"] <= table["gaussian"]).all()
    assert (table["bound_on_smallest_eigenvalue"] <= table["smallest_eigenvalue"]).all()
    part = table[table["sigma_factor"] == 1.0].sort_values("place")
    K = by_hand(roll(DENSE_ROWS)[0], SIGMA, 1 / (3 * SIGMA), 3)
    sums = K.sum(axis=1) - 1.0
    assert part["compact"].max() <= sums.max() + 1e-9
    assert np.isclose(sums[:, None], part["compact"].to_numpy(), rtol=1e-8).any(axis=0).all()


def test_similarity_and_sparsity_are_those_of_the_whole_matrices():
    table = measured("sparse-e41")
    X = roll(3000)[0]
    gaussian = np.exp(-(cdist(X, X) ** 2) / (2 * SIGMA**2))
    for row in (table.iloc[20], table.iloc[35]):
        K = by_hand(X, SIGMA, row["alpha"], 3)
        cosine = (K * gaussian).sum() / np.sqrt((K**2).sum() * (gaussian**2).sum())
        assert row["similarity"] == pytest.approx(cosine, abs=0.02)
        assert row["sparsity"] == pytest.approx(np.mean(K == 0.0), abs=0.02)
    both = table["similarity"] + table["sparsity"]
    best = table.loc[both.idxmax(), "alpha"]
    assert table["alpha_at_beta_1"].iloc[0] == pytest.approx(best, rel=0.2)


# ------------------------------------------------------------------------------- fill-in
def test_fill_in_is_counted_as_a_dense_factor_has_it():
    first = measured("sparse-f3").groupby(["dataset", "method"]).first()
    n = 40
    assert first.loc[("arrowhead", "natural"), "entries_of_factor"] == n * (n + 1) / 2
    assert first.loc[("arrowhead", "amd"), "entries_of_factor"] == 2 * n - 1
    for name in ("pendigits", "swiss-roll"):
        by_order = first.loc[name, "entries_of_factor"]
        assert by_order["amd"] < by_order["natural"] / 3
        assert first.loc[name, "entries_of_matrix"].nunique() == 1  # one matrix in every order


# ------------------------------------------------------------------- the roll, and its sigma
def test_sigma_is_judged_on_rows_that_no_machine_saw():
    table = measured("sparse-f6")
    data = load_dataset("swiss-roll", paper="sparse")
    row = table[(table["method"] == "SparseCholeskySVC") & (table["sigma"] == 0.05)].iloc[0]
    machine = SparseCholeskySVC(sigma=0.05)  # by the other path
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    scores = cross_val_score(machine, data.X_train, data.y_train, cv=folds)
    assert row["cv_accuracy"] == pytest.approx(scores.mean(), abs=1e-3)
    distances = cdist(data.X_train, data.X_train)
    assert row["sparsity"] == pytest.approx(np.mean(distances >= 0.15), abs=1e-12)


# -------------------------------------------------------------------------------- the slip
def test_the_listing_corrected_is_the_estimator_and_the_slip_costs():
    table = measured("sparse-slip").set_index(["dataset", "variant"])["test_accuracy"]
    data = load_dataset("pendigits", paper="sparse")
    with pytest.warns(UserWarning, match="the exponent 3 is below 9"):
        machine = SparseCholeskySVC(sigma=12.0, l=3).fit(data.X_train, data.y_train)
    expected = machine.score(data.X_test, data.y_test)
    assert table["pendigits", "corrected"] == pytest.approx(expected, abs=1e-3)
    assert table["pendigits", "as printed"] < table["pendigits", "corrected"] - 0.1
    for name in ("pendigits", "swiss-roll"):  # nothing is left of the weights but their mean
        assert table[name, "as printed"] == pytest.approx(table[name, "equal weights"], abs=0.04)


# --------------------------------------------------------------------------------- Table 2
def test_both_paths_reach_one_machine():
    table = measured("sparse-t2").query("dataset == 'swiss-roll'")
    for _, rows in table[table["l"] > 0].groupby("l"):
        assert np.ptp(rows["test_accuracy"]) < 0.002
        assert rows["sparsity"].nunique() == 1
    newton = table[table["method"] == sparse_table.NEWTON]  # LIBLINEAR ends at its own tolerance
    assert newton["kkt_residual"].max() < 1e-4
    linear = table.loc[table["method"] == "linear", "test_accuracy"].item()
    assert table.loc[table["l"] > 0, "test_accuracy"].min() > linear + 0.3


# ------------------------------------------------------------------ scaling, and what suits
def tiny_dataset(name, *, paper, scaling=None):
    """Rows in steps of one, two of them equal, and a far one."""
    X = np.array([[0.0, 0], [0, 0], [1, 0], [2, 0], [4, 0], [40, 0]])
    X = 2.0 * X if scaling == "standard" else X
    y = np.arange(6)
    return Dataset(name, X, y, None, None, X, y, {})


def test_scaling_counts_near_and_equal_rows(monkeypatch):
    monkeypatch.setattr(sparse_suited, "load_dataset", tiny_dataset)
    points = [
        Point.make("tiny", "predicted", variant=scaling, sigma=0.5, printed_sparsity=0.5)
        for scaling in ("none", "standard")
    ]
    near, far = (row for _, row in table_of(STUDIES["sparse-scaling"], points).iterrows())
    distances = cdist(*2 * [tiny_dataset("", paper="").X_train])
    assert near["sparsity"] == np.mean(distances >= 1.5)
    assert near["equal_rows"] == pytest.approx(2 / 6)
    assert near["smallest_distance"] == pytest.approx(1.0)
    assert near["rows_with_a_near_row"] == pytest.approx(4 / 6)
    assert far["near_rows"] == far["equal_rows"]
    assert far["rows_with_a_near_row"] == 0.0
    assert far["sparsity"] == np.mean(2 * distances >= 1.5)
    text = STUDIES["sparse-scaling"].key_figures(pd.DataFrame([far]))["tiny"]
    assert "all of them its duplicates" in text


def test_the_swiss_roll_was_scaled_to_both_sides():
    table = measured("sparse-scaling")
    off = (table["sparsity"] - 0.9998).abs()
    assert table.loc[off.idxmin(), "variant"] == "symmetric"
    assert (table["error_of_sparsity"] < 0.1 * (1 - table["sparsity"])).all()


def test_density_is_predicted_and_few_features_need_little():
    table = measured("sparse-suited")
    sparse = table[table["method"] == sparse_suited.SPARSE]
    np.testing.assert_allclose(sparse["predicted_density"], sparse["measured_density"], rtol=0.25)
    assert sparse["kkt_residual"].max() < 1e-4
    asked = sparse[sparse["dataset"] != "spambase"]  # which has rows that are equal
    np.testing.assert_allclose(asked["measured_density"], asked["density"], rtol=0.1)
    needed = sparse_suited.needed(table).set_index(["dataset", "variant"])["density"]
    assert needed["swiss-roll", "askey-odd"] <= 0.01
    assert np.isnan(needed["spambase", "askey-odd"])
    assert np.isnan(needed["spambase", "3"])
    # The reason: what is kept is next to nothing.
    values = sparse[sparse["variant"] == "askey-odd"].groupby("dataset")["mean_near_value"].last()
    assert values["pendigits"] < 0.01 < values["swiss-roll"]


def test_needed_is_the_smallest_density_that_is_enough():
    rows = [
        {"method": "sparse Newton", "variant": "3", "density": d, "test_accuracy": a}
        for d, a in ((0.2, 0.91), (0.1, 0.895), (0.01, 0.5), (0.05, 0.885))
    ]
    rows.append({"method": "LIBSVM", "variant": "", "density": 1.0, "test_accuracy": 0.9})
    shared = {"dataset": "a", "n_features": 3, "n_full": 100, "predicted_bytes": 1.0}
    found = sparse_suited.needed(pd.DataFrame([row | shared for row in rows])).iloc[0]
    assert found["density"] == 0.1
    assert found["smallest_loss"] == pytest.approx(-0.01)


# ------------------------------------------------------------------------ cost, shattering
def test_the_double_loop_finds_the_entries_of_the_assembly():
    table = measured("sparse-cost")
    assert (table.groupby("rows")["entries"].nunique() == 1).all()
    assert table["entries"].div(table["rows"]).between(60, 140).all()
    assert sigma_for(120_000) == pytest.approx(sigma_for(30_000) / 2)


@pytest.mark.parametrize("n_points", [2, 3, 4, 5])
def test_as_many_labellings_have_a_line_as_cover_counts(n_points):
    """Of n points in general position 2 (C(n-1, 0) + C(n-1, 1) + C(n-1, 2)) dichotomies are cut."""
    points = np.random.default_rng(n_points).random((n_points, 2))
    lines = {y: sparse_shatter.separating_line(points, y) for y in _labellings(n_points)}
    cut = [y for y, line in lines.items() if line is not None]
    assert len(cut) == sum(comb(n_points - 1, k) for k in range(3))
    for labels in cut:
        w1, w2, b = lines[labels]
        assert np.all(np.array(labels) * (points @ [w1, w2] + b) > 0.99)


def _labellings(n_points):
    found = sparse_shatter.labellings(n_points)
    assert len(set(found)) == 2 ** (n_points - 1)
    return found


def test_the_vc_dimension_of_lines_is_three():
    study = STUDIES["sparse-shatter"]
    scored = score(published(study.id), study.measured(measured(study.id)), study.tolerances)
    assert (scored["status"] == "reproduced").all()


@pytest.mark.parametrize("size", [1, 2, 7, 30])
def test_the_arrowhead_matrix_fills_in_its_own_order_only(size):
    matrix = arrowhead_matrix(size).toarray()
    np.testing.assert_array_equal(matrix, matrix.T)
    assert np.linalg.eigvalsh(matrix).min() > 0
    assert np.count_nonzero(matrix) == 3 * size - 2
    factor = np.linalg.cholesky(matrix)
    assert np.count_nonzero(np.abs(factor) > 1e-12) == size * (size + 1) // 2
    turned = np.linalg.cholesky(matrix[::-1, ::-1])
    assert np.count_nonzero(np.abs(turned) > 1e-12) == 2 * size - 1
