"""Block minimization against the solution in memory: whatever the blocks, the same optimum."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from kernlab.features import Features, as_features
from kernlab.solvers import certify_primal, solve_dcd, solve_sbm
from kernlab.solvers.linear.blocks import feature_blocks
from kernlab.solvers.losses import LOSSES

LOSS = pytest.mark.parametrize("loss", list(LOSSES))
INTERCEPT = pytest.mark.parametrize("intercept", ["penalised", "none"])


def problem(seed=0, n=500, p=8):
    generator = np.random.default_rng(seed)
    F = generator.normal(size=(n, p))
    y = np.where(F[:, 0] + 0.7 * generator.normal(size=n) > 0.3, 1.0, -1.0)
    return F, y


def optimum(F, y, **parameters):
    return solve_dcd(F, y, **{"C": 1.0, "tol": 1e-6, "max_iter": 20_000} | parameters)


def in_blocks(F, y, **parameters):
    defaults = {"C": 1.0, "tol": 1e-5, "max_iter": 2000, "block_rows": 60}
    return solve_sbm(F, y, **defaults | parameters)


# --------------------------------------------------------------------------- the optimum
@LOSS
@INTERCEPT
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, lambda F: F.astype(np.float32)])
def test_converges_to_the_solution_in_memory(loss, intercept, form):
    F, y = problem()
    reference = optimum(F, y, loss=loss, intercept=intercept)
    found = in_blocks(form(F), y, loss=loss, intercept=intercept)
    assert found.converged
    assert found.objective == pytest.approx(reference.objective, rel=2e-5)
    np.testing.assert_allclose(found.coefficients, reference.coefficients, atol=2e-2)
    assert np.abs(reference.coefficients).max() > 0.5


@LOSS
@pytest.mark.parametrize("drop", [0.0, 0.5, 0.75, 0.95, 1.0])
@pytest.mark.parametrize("block_rows", [37, 499, 500, 10_000])
def test_neither_blocks_nor_what_is_dropped_change_the_optimum(loss, drop, block_rows):
    F, y = problem()
    reference = optimum(F, y, loss=loss)
    found = in_blocks(F, y, loss=loss, drop=drop, block_rows=block_rows, tol=1e-3)
    assert found.converged
    assert found.objective == pytest.approx(reference.objective, rel=1.1e-3)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 80),
    p=st.integers(1, 6),
    block_rows=st.integers(1, 100),
    drop=st.floats(0.0, 1.0),
    C=st.floats(1e-3, 10.0),
    loss=st.sampled_from(list(LOSSES)),
)
def test_any_problem_is_certified(seed, n, p, block_rows, drop, C, loss):
    generator = np.random.default_rng(seed)
    F = generator.normal(size=(n, p)) * (generator.random(p) > 0.2)
    y = np.where(generator.random(n) > 0.4, 1.0, -1.0)
    weights = generator.integers(0, 3, n).astype(float)
    weights[0] = 1.0
    problem_ = {"C": C, "loss": loss, "sample_weight": weights}
    found = solve_sbm(F, y, **problem_, block_rows=block_rows, drop=drop, runs=7)
    certificate = certify_primal(
        F,
        y,
        found.coefficients,
        found.intercept,
        intercept="penalised",
        dual=found.dual_variables,
        **problem_,
    )
    assert certificate.primal == pytest.approx(found.objective, rel=1e-9)
    assert certificate.dual == pytest.approx(found.dual_objective, rel=1e-9, abs=1e-9)
    assert certificate.infeasibility == 0.0
    assert certificate.kkt_residual == pytest.approx(found.kkt_residual, rel=1e-6, abs=1e-9)
    best = optimum(F, y, **problem_, tol=1e-6).objective
    assert found.dual_objective <= best * (1 + 1e-9)
    assert found.objective >= best * (1 - 1e-6)


# ------------------------------------------------------------------------ how it gets there
def test_a_prescribed_run_is_no_failure_and_already_near(recwarn):
    F, y = problem(n=3000)
    reference = optimum(F, y)
    once = in_blocks(F, y, runs=1, block_rows=500)
    assert not recwarn.list
    assert once.n_iter == 1
    assert "as prescribed: 1" in once.message
    assert once.objective < 1.05 * reference.objective
    assert once.relative_gap < 0.1
    assert once.objective == pytest.approx(
        certify_primal(
            F, y, once.coefficients, once.intercept, C=1.0, loss="hinge", intercept="penalised"
        ).primal
    )
    thrice = in_blocks(F, y, runs=3, block_rows=500)
    assert thrice.dual_objective > once.dual_objective
    assert [row["iteration"] for row in thrice.trace] == [0, 1, 2, 3]


def test_the_dual_rises_with_every_run():
    F, y = problem(n=1000)
    duals = [in_blocks(F, y, runs=runs).dual_objective for runs in (1, 2, 4, 8)]
    assert np.all(np.diff(duals) > -1e-9)


def test_rows_kept_save_runs():
    F, y = problem(n=2000)
    keeping = in_blocks(F, y, tol=1e-3, drop=0.75, block_rows=200)
    forgetting = in_blocks(F, y, tol=1e-3, drop=1.0, block_rows=200)
    assert keeping.n_iter < forgetting.n_iter


def test_never_more_than_two_blocks_and_the_kept_rows_are_asked_for():
    """Rows that are transformed when asked for, with a count of how many are."""
    F, y = problem(n=1000)
    asked = []

    def transform(rows):
        asked.append(len(rows))
        return 2.0 * rows

    rows = Features.formed(F.shape, lambda rows, room: transform(F[rows]))
    lazy = in_blocks(rows, y, runs=2, block_rows=130)
    assert max(asked) == 130
    assert sum(asked) == 3 * 1000  # two runs, and one for the figures of the result
    eager = in_blocks(2.0 * F, y, runs=2, block_rows=130)
    np.testing.assert_array_equal(lazy.coefficients, eager.coefficients)


def test_blocks_come_in_order_and_whole(tmp_path):
    F, _ = problem(n=101)
    np.save(tmp_path / "rows.npy", F)
    for source in (F, np.load(tmp_path / "rows.npy", mmap_mode="r"), sp.csr_matrix(F)):
        blocks = list(feature_blocks(as_features(source), 25))
        assert [rows.start for rows, _ in blocks] == [0, 25, 50, 75, 100]
        dense = [b.toarray() if sp.issparse(b) else b for _, b in blocks]
        np.testing.assert_array_equal(np.vstack(dense), F)
    assert next(feature_blocks(as_features(np.arange(6).reshape(3, 2)), 3))[1].dtype == np.float64


def test_a_fault_in_a_later_block_comes_through():
    F, y = problem(n=100)

    def transform(rows):
        if rows[0, 0] == F[60, 0]:
            raise OSError("the disk is gone")
        return rows

    with pytest.raises(OSError, match="disk"):
        in_blocks(Features.formed(F.shape, lambda rows, room: transform(F[rows])), y, block_rows=20)


def test_a_warm_start_saves_runs():
    F, y = problem(n=1000)
    first = in_blocks(F, y, C=1.0)
    again = in_blocks(F, y, C=1.0, start=first.dual_variables)
    assert again.n_iter == 0
    assert again.objective == pytest.approx(first.objective)


def test_a_seed_decides():
    F, y = problem()
    first, second, other = (in_blocks(F, y, runs=1, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.coefficients, second.coefficients)
    assert not np.array_equal(first.coefficients, other.coefficients)


def test_the_callback_sees_every_run():
    F, y = problem()
    seen = []
    assert list(in_blocks(F, y, callback=seen.append).trace) == seen


# ------------------------------------------------------------------ weights, hostile input
@LOSS
def test_weight_two_is_the_row_twice(loss):
    F, y = problem(n=90)
    weights = np.arange(90) % 3
    repeated = np.repeat(np.arange(90), weights)
    weighted = in_blocks(F, y, loss=loss, sample_weight=weights, tol=1e-7)
    twice = in_blocks(F[repeated], y[repeated], loss=loss, tol=1e-7)
    assert weighted.objective == pytest.approx(twice.objective, rel=1e-6)


def test_an_optimum_at_the_start_is_proven():
    """Two labels on the same rows: w = 0 is best at once, and only the dual shows it."""
    F, y = np.ones((60, 1)), np.where(np.arange(60) % 2, 1.0, -1.0)
    found = solve_sbm(F, y, C=1.0, block_rows=25)
    assert found.converged
    assert found.objective == pytest.approx(60.0, rel=1e-3)
    assert found.relative_gap <= 1e-3


def test_too_few_runs_say_so_and_return_the_best():
    F, y = problem()
    with pytest.warns(ConvergenceWarning, match=r"sbm stopped after 2.*gap of.*Raise max_iter"):
        found = in_blocks(F, y, max_iter=2, tol=1e-9, C=10.0)
    assert found.objective == pytest.approx(min(row["objective"] for row in found.trace))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"C": -1.0}, "C must be"),
        ({"intercept": "free"}, "free"),
        ({"loss": "logistic"}, "loss="),
        ({"block_rows": 0}, "block_rows"),
        ({"passes_per_block": 0}, "passes_per_block"),
        ({"runs": 0}, "runs"),
        ({"drop": 1.5}, "drop"),
        ({"start": np.zeros(3)}, "start"),
        ({"sample_weight": np.ones(3)}, "sample_weight"),
    ],
)
def test_impossible_requests_are_refused(changes, message):
    F, y = problem()
    with pytest.raises(ValueError, match=message):
        in_blocks(F, y, **changes)


def test_bad_numbers_are_refused():
    F, y = problem()
    F[123, 4] = np.nan
    with pytest.raises(ValueError, match=r"rows 120 to 180.*not finite"):
        in_blocks(F, y)
    with pytest.raises(ValueError, match="labels"):
        in_blocks(F, y[:-1])
    with pytest.raises(ValueError, match="-1 and 1"):
        in_blocks(F, y + 1)
