"""What holds for every solver of the registry, against optima found by general optimisers."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import scipy.linalg as la
import scipy.sparse as sp
from checker import assert_true
from references import optimum
from sklearn.exceptions import ConvergenceWarning

from kernlab.features import Features
from kernlab.parameters import entry_of
from kernlab.solvers import SOLVERS

COSTS = (2.0, 0.05, 20.0)  # not in order
TIGHT = {
    "newton": {"tol": 1e-9, "gap_tol": 1e-9},
    "newton-cg": {"tol": 1e-8},
    "dcd": {"tol": 1e-8, "max_iter": 100_000},
    "sbm": {"tol": 1e-8, "max_iter": 20_000, "block_rows": 8},
    "liblinear-dcd": {"tol": 1e-9, "max_iter": 1_000_000},
    "liblinear-tron": {"tol": 1e-9, "max_iter": 10_000},
    "dual-admm": {"tol": 1e-8, "max_iter": 20_000},
    "hinge-admm": {"tol": 1e-7},
    "hinge-interior": {"tol": 1e-8},
}
PROBLEMS = [
    (name, loss, intercept)
    for name, spec in SOLVERS.items()
    for loss in spec.losses
    for intercept in spec.intercepts
]
OF_FEATURES = [name for name, spec in SOLVERS.items() if spec.needs == "features"]
WEIGHTED = pytest.mark.parametrize("weighted", [False, True], ids=["alike", "weighted"])


def rows():
    """Features far from the origin on one side, so that an intercept matters; two columns."""
    generator = np.random.default_rng(0)
    F = generator.normal(size=(24, 4))
    F[:, 0] += 1.0
    noise = generator.normal(size=(24, 2))
    y = np.where(F[:, :2] + 0.8 * noise > [1.4, 0.2], 1.0, -1.0)
    return F, y, generator.integers(0, 4, 24).astype(float)


F, Y, WEIGHTS = rows()
K = F @ F.T


class Shifted:
    """What solvers that need shifted solves are given: K itself."""

    is_kernel_map = kernel_is_semidefinite = True

    def operator(self):
        return K

    def is_definite(self, beta):
        return beta > 0

    def shifted(self, beta):
        class Factor:
            solve = staticmethod(lambda B: la.solve(K + beta * np.eye(len(K)), B, assume_a="pos"))

        return Factor


def data_for(spec):
    return {"features": F, "operator": K, "shifted": Shifted()}[spec.needs]


@cache
def best_of(column, C, loss, intercept, weighted=False):
    """The optimal objective; rows of weight zero are not there."""
    costs = C * (WEIGHTS if weighted else np.ones(len(F)))
    live = costs > 0
    return optimum(K[np.ix_(live, live)], Y[live, column], costs[live], loss, intercept)


def assert_contract(spec, solve, loss, intercept, weighted):
    """All columns with all C in one call: the optimum of each, and true claims."""
    weights = WEIGHTS if weighted else None
    families = solve(
        data_for(spec), Y, C=np.array(COSTS), loss=loss, intercept=intercept,
        sample_weight=weights, random_state=0, max_memory="1GB", **TIGHT[spec.name],
    )  # fmt: skip
    assert len(families) == 2
    for column, family in enumerate(families):
        assert len(family) == len(COSTS)
        for C, result in zip(COSTS, family, strict=True):
            best = best_of(column, C, loss, intercept, weighted)
            assert result.objective == pytest.approx(best, rel=2e-6)
            assert intercept != "none" or result.intercept == 0.0
            matrix = {"features": F} if spec.needs == "features" else {"kernel": K}
            problem = {"C": C, "loss": loss, "intercept": intercept, "sample_weight": weights}
            assert_true(result, Y[:, column], best=best, **problem, **matrix)
            assert result.relative_gap < 1e-4
            assert result.converged


@WEIGHTED
@pytest.mark.parametrize(("name", "loss", "intercept"), PROBLEMS)
def test_columns_and_costs_in_one_call_are_each_at_their_optimum(name, loss, intercept, weighted):
    spec = SOLVERS[name]
    assert_contract(spec, spec.solve, loss, intercept, weighted)


# ------------------------------------------------ the contract notices what it is there for
def without_intercept(solve, *arguments, intercept, **others):
    return solve(*arguments, intercept="none", **others)


def without_weights(solve, *arguments, sample_weight, **others):
    return solve(*arguments, sample_weight=None, **others)


def with_the_neighbours_cost(solve, *arguments, **others):
    return [family[1:] + family[:1] for family in solve(*arguments, **others)]


def with_the_figures_of_other_coefficients(solve, *arguments, **others):
    return [
        [replace(one, coefficients=1.001 * one.coefficients) for one in family]
        for family in solve(*arguments, **others)
    ]


def with_the_bound_of_other_dual_variables(solve, *arguments, **others):
    return [
        [replace(one, dual_objective=one.dual_objective + 1e-3 * one.objective) for one in family]
        for family in solve(*arguments, **others)
    ]


SABOTAGES = (
    without_intercept,
    without_weights,
    with_the_neighbours_cost,
    with_the_figures_of_other_coefficients,
    with_the_bound_of_other_dual_variables,
)


@pytest.mark.parametrize("sabotage", SABOTAGES, ids=lambda function: function.__name__)
@pytest.mark.parametrize("name", SOLVERS)
def test_the_contract_notices(name, sabotage):
    spec = SOLVERS[name]
    loss, intercept = spec.losses[0], next(i for i in spec.intercepts if i != "none")
    with pytest.raises(AssertionError):
        assert_contract(spec, lambda *a, **k: sabotage(spec.solve, *a, **k), loss, intercept, True)


# ------------------------------------------------------------------------ the rest of the call
@pytest.mark.parametrize("name", SOLVERS)
def test_the_shape_of_what_is_returned_is_that_of_the_call(name):
    spec = SOLVERS[name]
    problem = {"loss": spec.losses[0], "intercept": spec.intercepts[0], **TIGHT[name]}
    one = spec.solve(data_for(spec), Y[:, 0], C=2.0, **problem)
    (of_array,) = spec.solve(data_for(spec), Y[:, 0], C=np.array([2.0]), **problem)
    (of_matrix,) = spec.solve(data_for(spec), Y[:, :1], C=2.0, **problem)
    ((of_both,),) = spec.solve(data_for(spec), Y[:, :1], C=[2.0], **problem)
    for other in (of_array, of_matrix, of_both):
        np.testing.assert_allclose(other.coefficients, one.coefficients, rtol=1e-9, atol=1e-12)
    assert one.coefficients.ndim == 1
    assert isinstance(one.intercept, float)


@pytest.mark.parametrize("name", OF_FEATURES)
def test_weights_are_repetitions(name):
    spec = SOLVERS[name]
    problem = {"C": 2.0, "loss": spec.losses[0], "intercept": spec.intercepts[0], **TIGHT[name]}
    weighted = spec.solve(F, Y[:, 0], sample_weight=WEIGHTS, **problem)
    rows = np.repeat(np.arange(len(F)), WEIGHTS.astype(int))
    repeated = spec.solve(F[rows], Y[rows, 0], **problem)
    assert weighted.objective == pytest.approx(repeated.objective, rel=1e-6)
    np.testing.assert_allclose(weighted.coefficients, repeated.coefficients, atol=2e-3)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_start_leads_to_the_same_optimum(name):
    spec = SOLVERS[name]
    problem = {"loss": spec.losses[0], "intercept": spec.intercepts[0], **TIGHT[name]}
    cold = spec.solve(data_for(spec), Y, C=2.0, **problem)
    warm = spec.solve(data_for(spec), Y, C=2.2, start=[cold[0], None], **problem)
    for column, result in enumerate(warm):
        best = best_of(column, 2.2, spec.losses[0], spec.intercepts[0])
        assert result.objective == pytest.approx(best, rel=2e-6)
    with pytest.raises(ValueError, match="start"):
        spec.solve(data_for(spec), Y, C=2.0, start=cold[:1], **problem)
    wrong = (np.zeros(7), 0.0) if name.startswith("newton") else np.zeros(7)
    with pytest.raises(ValueError, match="start"):
        spec.solve(data_for(spec), Y[:, 0], C=2.0, start=wrong, **problem)


class Doubling:
    """M = 2 I, as a map of stored values."""

    n_landmarks = n_features = 4
    is_nested = False
    apply = fold = unfold = staticmethod(lambda values: 2.0 * values)


@pytest.mark.parametrize("name", SOLVERS)
def test_a_seed_decides_and_the_trace_is_what_the_callback_saw(name):
    spec = SOLVERS[name]
    problem = {"loss": spec.losses[0], "intercept": spec.intercepts[0], **TIGHT[name]}
    seen, traces, found = [], [], []
    for _ in range(2):
        call = {"C": 2.0, "random_state": 3, "callback": seen.append}
        found.append(spec.solve(data_for(spec), Y[:, 0], **call, **problem))
        traces += found[-1].trace
    np.testing.assert_array_equal(found[0].coefficients, found[1].coefficients)
    told = [{key: row[key] for key in kept} for row, kept in zip(seen, traces, strict=True)]
    assert told == traces


CUT_SHORT = [(*problem, 1) for problem in PROBLEMS]
CUT_SHORT += [(*one, steps) for one in PROBLEMS if one[0].startswith("hinge") for steps in (2, 4)]


@pytest.mark.parametrize(("name", "loss", "intercept", "steps"), CUT_SHORT)
def test_falling_short_is_said_once_and_what_is_claimed_is_true(name, loss, intercept, steps):
    spec = SOLVERS[name]
    problem = {"C": 20.0, "loss": loss, "intercept": intercept}
    with pytest.warns(ConvergenceWarning, match=rf"{name} stopped .*\d\.\d+e") as caught:
        found = spec.solve(data_for(spec), Y[:, 0], max_iter=steps, tol=1e-12, **problem)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert not found.converged
    best = best_of(0, *problem.values())
    assert found.objective >= best * (1 - 1e-6)
    matrix = {"features": F} if spec.needs == "features" else {"kernel": K}
    assert_true(found, Y[:, 0], best=best, **problem, **matrix)


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize(("name", "loss", "intercept"), PROBLEMS)
def test_rows_of_one_sign_that_weigh_anything_are_solved_all_the_same(name, loss, intercept, sign):
    """A class of weight zero leaves one of several problems like that: LIBLINEAR refuses it."""
    spec, weights = SOLVERS[name], np.where(Y[:, 0] == sign, 2.0, 0.0)
    problem = {"C": 2.0, "loss": loss, "intercept": intercept, "sample_weight": weights}
    found = spec.solve(data_for(spec), Y[:, 0], **problem, **TIGHT[name])
    live, costs = weights > 0, np.full(int((weights > 0).sum()), 4.0)
    own = K[np.ix_(live, live)], Y[live, 0], costs
    best = 0.0 if intercept == "free" else optimum(*own, loss, intercept)
    assert found.objective == pytest.approx(best, rel=2e-6, abs=1e-6)


FORMS = {
    "csr": lambda F: sp.csr_matrix(F),
    "single": lambda F: F.astype(np.float32),
    "column order": np.asfortranarray,
    "list": lambda F: F.tolist(),
    "formed": lambda F: Features.formed(F.shape, lambda rows, room: F[rows]),
    "mapped": lambda F: Features.mapped(
        lambda: F / 2, Doubling, lambda rows, room: F[rows], F.dtype, squared_norms=(F**2).sum(1)
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", OF_FEATURES)
def test_features_come_in_any_form(name, form):
    spec = SOLVERS[name]
    problem = {"loss": spec.losses[0], "intercept": spec.intercepts[0]}
    tight = TIGHT[name] | ({"tol": 1e-5} if form == "single" else {})
    found = spec.solve(FORMS[form](F), Y[:, 0], C=2.0, **problem, **tight)
    assert found.objective == pytest.approx(best_of(0, 2.0, *problem.values()), rel=2e-5)


@pytest.mark.parametrize("name", OF_FEATURES)
def test_without_features_each_row_loses_one(name, capfd):
    """As where a kernel is zero on all rows."""
    spec = SOLVERS[name]
    for loss in spec.losses:
        found = spec.solve(F[:, :0], Y[:, 0], C=2.0, loss=loss, intercept="none")
        assert found.coefficients.shape == (0,)
        assert found.objective == pytest.approx(2.0 * len(F))
    assert "illegal" not in "".join(capfd.readouterr())  # LAPACK says so beside Python


@pytest.mark.parametrize("name", SOLVERS)
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"C": -1.0}, "C must be a positive number, not -1.0"),
        ({"C": [1.0, np.nan]}, "C must be a positive number, not nan"),
        ({"C": []}, "C must be a number or an array"),
        ({"tol": -1.0}, "tol must be .*, not -1.0"),
        ({"tol": np.nan}, "tol must be"),
        ({"max_iter": 0}, "max_iter"),
        ({"max_iter": 2.5}, "max_iter must be"),
        ({"sample_weight": -WEIGHTS - 1.0}, "sample_weight must be"),
        ({"y": Y[:-1, 0]}, "24 rows|24 numbers|kernel matrix of 24"),
        ({"y": 0.5 * Y[:, 0]}, "labels must be -1 and 1"),
        ({"y": Y[:, :0]}, "not of shape"),
        ({"loss": "logistic"}, "logistic"),
        ({"intercept": "maybe"}, "maybe"),
    ],
)
def test_what_cannot_be_solved_is_refused_in_a_sentence(name, changes, message):
    spec = SOLVERS[name]
    problem = {"y": Y[:, 0], "C": 1.0, "loss": spec.losses[0], "intercept": spec.intercepts[0]}
    problem |= changes
    with pytest.raises((ValueError, TypeError), match=message):
        spec.solve(data_for(spec), problem.pop("y"), **problem)


# NumPy's own, of sums with what is not finite; the refusal is what counts.
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("bad", [np.nan, np.inf])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
@pytest.mark.parametrize("name", OF_FEATURES)
def test_features_that_are_not_finite_are_refused(name, form, bad):
    spec, spoilt = SOLVERS[name], F.copy()
    spoilt[3, 1] = bad
    problem = {"C": 1.0, "loss": spec.losses[0], "intercept": spec.intercepts[0]}
    with pytest.raises(ValueError, match=r"not finite|NaN|infinity"):
        spec.solve(form(spoilt), Y[:, 0], **problem)


def test_an_unknown_name_suggests_the_nearest():
    with pytest.raises(ValueError, match="did you mean 'newton'"):
        entry_of(SOLVERS, "nweton", "solver")
    with pytest.raises(ValueError, match=r"offers intercept=.*: set intercept='penalised'"):
        SOLVERS["dcd"].check("hinge", "free")
