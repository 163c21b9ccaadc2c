"""The general pair: every approximation with every solver against optima found by others."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp
from references import optimum
from sklearn.datasets import make_moons

from kernlab import FPC, KernelMachine
from kernlab.approximations import APPROXIMATIONS
from kernlab.estimators.machine import fit_together, scores_of
from kernlab.solvers import SOLVERS

X, Y = make_moons(90, noise=0.25, random_state=0)
NEW, _ = make_moons(50, noise=0.2, random_state=1)
SIGNS = np.where(Y == 1, 1.0, -1.0)
WEIGHTS = np.random.default_rng(0).uniform(0.2, 2.0, len(Y))
PARAMETERS = {
    "nystrom": {"n_landmarks": 15},
    "reduced": {"n_landmarks": 15},
    "fourier": {"n_components": 40},
    "compact": {"l": 3, "drop": 0.0},
    "hss": {"leaf_size": 16, "rel_tol": 1e-8},
    "polynomial": {"degree": 3},
}
TIGHT = {
    "newton": {"tol": 1e-8, "solver_params": {"gap_tol": 1e-7}},
    "newton-cg": {"tol": 1e-8},
    "dcd": {"tol": 1e-6, "max_iter": 50_000},
    "sbm": {"tol": 1e-6, "max_iter": 5000},
    "liblinear-dcd": {"tol": 1e-8, "max_iter": 1_000_000},
    "liblinear-tron": {"tol": 1e-8, "max_iter": 10_000},
    "dual-admm": {"tol": 1e-6, "max_iter": 20_000},
    "hinge-admm": {"tol": 1e-6, "max_iter": 100_000},
    "hinge-interior": {"tol": 1e-7},
}
PAIRS = [
    (approximation, solver)
    for approximation, kind in APPROXIMATIONS.items()
    for solver, spec in SOLVERS.items()
    if kind.offers(spec.needs)
]


def machine(approximation, solver, **changes):
    gamma = {} if approximation == "polynomial" else {"gamma": 2.0}
    settings = {"random_state": 0, "approximation_params": PARAMETERS.get(approximation)}
    return KernelMachine(approximation, solver, **settings | TIGHT[solver] | gamma | changes)


def matrix_of(approximation, X):
    """K~ of the fitted rows, from the features that anyone gets, or from products with it."""
    if type(approximation).offers("operator"):
        return approximation.operator() @ np.eye(len(X))
    F = approximation.transform(X)
    F = F.toarray() if sp.issparse(F) else F
    return F @ F.T


@cache
def best_of(matrix, loss, intercept):
    """The optimum for a matrix given by its bytes: solvers of one approximation share it."""
    K = np.frombuffer(matrix).reshape(len(X), len(X))
    return optimum(K, SIGNS, 0.7 * WEIGHTS, loss, intercept)


@pytest.mark.parametrize(("approximation", "solver"), PAIRS)
def test_every_pair_reaches_the_optimum_of_its_problem(approximation, solver):
    spec = SOLVERS[solver]
    for loss in spec.losses:
        for intercept in spec.intercepts:
            fitted = machine(approximation, solver, loss=loss, intercept=intercept, C=0.7)
            fitted.fit(X, Y, sample_weight=WEIGHTS)
            best = best_of(matrix_of(fitted.approximation_, X).tobytes(), loss, intercept)
            assert fitted.result_.objective == pytest.approx(best, rel=2e-4)
            assert fitted.result_.converged
            scores = fitted.decision_function(X)
            lost = np.maximum(0, 1 - SIGNS * scores) ** (2 if loss == "squared_hinge" else 1)
            # The sparse kernel's own values have no shift; HSS decides by the exact kernel.
            if approximation not in ("compact", "hss"):
                assert 0.7 * WEIGHTS @ lost <= fitted.result_.objective * (1 + 1e-6)


@pytest.mark.parametrize("approximation", APPROXIMATIONS)
@pytest.mark.parametrize("solver", SOLVERS)
def test_what_cannot_work_together_is_refused(approximation, solver):
    spec = SOLVERS[solver]
    if (approximation, solver) not in PAIRS:
        with pytest.raises(ValueError, match=f"{solver}.*needs {spec.needs}.*{approximation}"):
            machine(approximation, solver).fit(X, Y)
        return
    accepted = {"loss": spec.losses, "intercept": spec.intercepts}
    for what, offered in accepted.items():
        for value in {"hinge", "squared_hinge", "free", "penalised", "none"} - set(offered):
            settings = {name: values[0] for name, values in accepted.items()} | {what: value}
            with pytest.raises(ValueError, match=f"{what}="):
                machine(approximation, solver, **settings).fit(X, Y)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"approximation": "nystrm"}, "approximation='nystrm' is not.*did you mean 'nystrom'"),
        ({"solver": "newtn"}, "solver='newtn' is not.*did you mean 'newton'"),
        ({"approximation": "polynomial", "kernel": "laplacian"}, "takes no kernel.*'laplacian'"),
        ({"approximation": "polynomial", "gamma": 3.0}, "'polynomial' takes no gamma.*gamma=3.0"),
        ({"approximation": "polynomial", "coef0": 0.0}, "'polynomial' takes no coef0"),
        ({"approximation": "compact", "degree": 2}, "'compact' takes no degree"),
        (
            {"approximation_params": {"n_landmark": 3}},
            "takes no n_landmark; it takes .*n_landmarks",
        ),
        ({"solver_params": {"runs": 1}}, "solver 'newton' takes no runs; it takes"),
        ({"kernel": "magic"}, "kernel='magic'"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, "not finite"),
        ({"kernel": "sigmoid", "gamma": 1.0}, "not positive semidefinite"),
    ],
)
def test_parameters_that_a_part_does_not_take_are_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelMachine(**{"random_state": 0} | parameters).fit(X, Y)


def test_without_a_kernel_of_inner_products_nothing_is_bounded():
    """A dual point's value bounds the primal where the matrix is one of inner products."""

    def bound(kernel, **params):
        fitted = KernelMachine("exact", "newton-cg", kernel=kernel, **params).fit(X, Y)
        return fitted.result_.dual_objective

    assert bound("rbf", gamma=1.0) is not None
    assert bound("sigmoid", gamma=0.1, coef0=0.5) is None
    assert machine("hss", "newton-cg").fit(X, Y).result_.dual_objective is None


def test_machines_that_share_are_each_as_if_alone():
    """One approximation, the costs of each solver at once, and decisions in one pass."""
    machines = [
        machine("exact", solver, loss="squared_hinge", intercept="penalised", C=C)
        for solver in ("dcd", "newton", "newton-cg") for C in (1.0, 0.1, 10.0)
    ]  # fmt: skip
    assert len({one.sharing_key() for one in machines}) == 1
    fit_together(machines, X, Y)
    assert len({id(one.approximation_) for one in machines}) == 1
    alone = [one.with_params().fit(X, Y) for one in machines]
    together = scores_of(machines, machines[0].rows_of(NEW))
    for one, other, scores in zip(machines, alone, together, strict=True):
        assert one.result_.objective == pytest.approx(other.result_.objective, rel=1e-5)
        np.testing.assert_allclose(scores[:, 0], one.decision_function(NEW), atol=1e-9)
        np.testing.assert_allclose(scores[:, 0], other.decision_function(NEW), atol=1e-2)
    assert [one.timings_["approximate"] > 0 for one in machines] == [True] + 8 * [False]
    assert machines[0].sharing_key() != machines[0].with_params(gamma=1.0).sharing_key()
    assert (
        machines[0].sharing_key() != machines[0].with_params(class_weight="balanced").sharing_key()
    )


@pytest.mark.filterwarnings("error::RuntimeWarning")
@pytest.mark.parametrize("n_rows", [3, 20_000])
@pytest.mark.parametrize(
    "machine",
    [
        KernelMachine("nystrom", "newton", kernel="polynomial"),
        KernelMachine("exact", "newton", kernel="polynomial"),
        FPC(degree=3, n_centres=5, random_state=0),
    ],
    ids=["landmarks", "all rows", "features"],
)
def test_a_row_that_is_too_large_for_a_decision_is_named(machine, n_rows):
    X, y = make_moons(100, noise=0.1, random_state=0)
    machine.fit(X, y)
    Z = np.resize(X, (n_rows, 2))
    Z[-1] = 1e200, -1e200
    with pytest.raises(ValueError, match=f"row {n_rows - 1} has no finite decision"):
        machine.predict(Z)
    assert np.isin(machine.predict(Z[:-1]), [0, 1]).all()
