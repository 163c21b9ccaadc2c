"""Block minimization: whatever the blocks, the optimum that LIBLINEAR finds in memory."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.svm import LinearSVC

from kernlab.features import Features, as_features
from kernlab.solvers import certify_primal, solve_sbm
from kernlab.solvers.problems import LOSSES

LOSS = pytest.mark.parametrize("loss", list(LOSSES))
INTERCEPT = pytest.mark.parametrize("intercept", ["penalised", "none"])


def problem(seed=0, n=500, p=8):
    generator = np.random.default_rng(seed)
    F = generator.normal(size=(n, p))
    y = np.where(F[:, 0] + 0.7 * generator.normal(size=n) > 0.3, 1.0, -1.0)
    return F, y


def optimum(F, y, *, C=1.0, loss="hinge", intercept="penalised", sample_weight=None):
    """The least objective, and the weights, by LIBLINEAR."""
    model = LinearSVC(
        loss=loss, C=C, fit_intercept=intercept == "penalised", tol=1e-9, max_iter=10**6
    ).fit(F, y, sample_weight)
    w, b = model.coef_[0], float(np.ravel(model.intercept_)[0])
    slack = np.maximum(0.0, 1.0 - y * (F @ w + b))
    lost = (slack if loss == "hinge" else slack**2) * (
        1.0 if sample_weight is None else sample_weight
    )
    return 0.5 * (w @ w + b * b) + C * lost.sum(), w


def in_blocks(F, y, **parameters):
    defaults = {"C": 1.0, "tol": 1e-5, "max_iter": 2000, "block_rows": 60}
    return solve_sbm(F, y, **defaults | parameters)


# --------------------------------------------------------------------------- the optimum
@LOSS
@INTERCEPT
@pytest.mark.parametrize(
    ("form", "block_rows", "drop"),
    [
        (np.asarray, None, 0.75),
        (sp.csr_matrix, 60, 0.75),
        (np.float32, 60, 0.0),
        (np.asarray, 60, 0.95),
    ],
)
def test_blocks_memory_and_what_is_dropped_lead_to_the_optimum(
    loss, intercept, form, block_rows, drop
):
    F, y = problem(n=300)
    best, w = optimum(F, y, loss=loss, intercept=intercept)
    how = {"block_rows": block_rows, "drop": drop}
    found = in_blocks(form(F), y, loss=loss, intercept=intercept, **how)
    assert found.converged
    assert found.solver == "sbm"
    assert ("one block" in found.message) == (block_rows is None)
    assert found.objective == pytest.approx(best, rel=2e-5)
    assert found.dual_objective <= best * (1 + 1e-6)
    np.testing.assert_allclose(found.coefficients, w, atol=2e-2)


@settings(max_examples=30, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 80),
    p=st.integers(1, 6),
    block_rows=st.integers(1, 100),
    drop=st.floats(0.0, 1.0, exclude_max=True),
    C=st.floats(1e-3, 10.0),
    loss=st.sampled_from(list(LOSSES)),
)
def test_any_problem_is_certified(seed, n, p, block_rows, drop, C, loss):
    generator = np.random.default_rng(seed)
    F = generator.normal(size=(n, p)) * (generator.random(p) > 0.2)
    y = np.where(generator.random(n) > 0.4, 1.0, -1.0)
    y[:2] = 1.0, -1.0
    weights = generator.integers(0, 3, n).astype(float)
    weights[:2] = 1.0
    problem_ = {"C": C, "loss": loss, "sample_weight": weights}
    found = solve_sbm(F, y, **problem_, block_rows=block_rows, drop=drop, runs=7)
    certificate = certify_primal(
        F, y, found.coefficients, found.intercept, intercept="penalised",
        dual=found.dual_variables, **problem_,
    )  # fmt: skip
    assert certificate.primal == pytest.approx(found.objective, rel=1e-9)
    assert certificate.dual == pytest.approx(found.dual_objective, rel=1e-9, abs=1e-9)
    assert certificate.infeasibility == 0.0
    assert certificate.kkt_residual == pytest.approx(found.kkt_residual, rel=1e-6, abs=1e-9)
    best = optimum(F, y, **problem_)[0]
    assert found.dual_objective <= best * (1 + 1e-9)
    assert found.objective >= best * (1 - 1e-6)


def test_an_optimum_at_the_start_is_proven():
    """Two labels on the same rows: w = 0 is best at once, and only the dual shows it."""
    F, y = np.ones((60, 1)), np.where(np.arange(60) % 2, 1.0, -1.0)
    for block_rows in (25, None):
        found = solve_sbm(F, y, C=1.0, block_rows=block_rows)
        assert found.converged
        assert found.objective == pytest.approx(60.0, rel=1e-3)
        assert found.relative_gap <= 1e-3


# ------------------------------------------------------------------------ how it gets there
def test_a_prescribed_run_is_no_failure_and_already_near(recwarn):
    F, y = problem(n=3000)
    best = optimum(F, y)[0]
    once = in_blocks(F, y, runs=1, block_rows=500)
    assert not recwarn.list
    assert once.n_iter == 1
    assert "as prescribed: 1" in once.message
    assert once.objective < 1.05 * best
    assert once.relative_gap < 0.1
    runs = [in_blocks(F, y, runs=runs, block_rows=500) for runs in (1, 2, 4)]
    assert np.all(np.diff([one.dual_objective for one in runs]) > -1e-9)
    assert [row["iteration"] for row in runs[-1].trace] == [0, 1, 2, 3, 4]
    assert in_blocks(F, y, runs=1, block_rows=None).message == once.message  # 20,000 rows


def test_blocks_are_formed_in_order_when_asked_for_and_once_a_run(tmp_path):
    F, y = problem(n=1000)
    asked = []

    def form(rows, room):
        asked.append(rows)
        return 2.0 * F[rows]

    lazy = in_blocks(Features.formed(F.shape, form), y, runs=2, block_rows=130)
    assert max(rows.stop - rows.start for rows in asked) == 130
    assert [rows.start for rows in asked] == 3 * list(range(0, 1000, 130))
    eager = in_blocks(2.0 * F, y, runs=2, block_rows=130)
    np.testing.assert_array_equal(lazy.coefficients, eager.coefficients)
    endless = solve_sbm(Features.formed(F.shape, form), y, C=1.0)  # may be those of a file
    assert "one block" not in endless.message
    np.save(tmp_path / "rows.npy", 2.0 * F)
    mapped = as_features(np.load(tmp_path / "rows.npy", mmap_mode="r"))
    again = in_blocks(mapped, y, runs=2, block_rows=130)
    np.testing.assert_array_equal(again.coefficients, eager.coefficients)

    def broken(rows, room):
        if rows.start > 500:
            raise OSError("the disk is gone")
        return F[rows]

    with pytest.raises(OSError, match="disk"):
        in_blocks(Features.formed(F.shape, broken), y, block_rows=20)


def test_several_problems_share_the_features_that_memory_holds():
    F, y = problem(n=1000)
    formed = []

    def whole():
        formed.append(len(F))
        return F.copy()

    labels = np.column_stack([y, np.sign(F[:, 1]), np.sign(F[:, 2])])
    features = Features.formed(F.shape, lambda rows, room: F[rows], whole=whole)
    together = in_blocks(features, labels, C=[1.0, 0.1], runs=2, block_rows=130)
    assert len(formed) == 1
    for column, path in zip(labels.T, together, strict=True):
        for C, result in zip((1.0, 0.1), path, strict=True):
            alone = in_blocks(F, column, C=C, runs=2, block_rows=130)
            np.testing.assert_array_equal(result.coefficients, alone.coefficients)


# --------------------------------------------------------------------------- hostile input
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"intercept": "free"}, "free"),
        ({"block_rows": 0}, "block_rows"),
        ({"block_rows": 2.5}, "block_rows"),
        ({"runs": 0}, "runs"),
        ({"runs": 2.5}, "runs"),
        ({"drop": 1.5}, "drop"),
    ],
)
def test_impossible_requests_are_refused(changes, message):
    """Also a number of runs that is none, which no count of runs would ever equal."""
    F, y = problem()
    with pytest.raises((ValueError, TypeError), match=message):
        in_blocks(F, y, **changes)
