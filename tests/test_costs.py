"""Costs are counted before a fit: they grow as the work does, and memory is what is then held."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_moons

from kernlab import (
    FPC,
    HSSSVC,
    LASN,
    LLSVM,
    KernelMachine,
    LASNRegressor,
    SparseCholeskySVC,
    costs,
)
from kernlab.approximations import APPROXIMATIONS
from kernlab.costs import Rates, Sizes
from kernlab.estimators import ESTIMATORS
from kernlab.lab.engine.measuring import call_limited
from kernlab.solvers import SOLVERS

ROWS = Sizes(rows=20_000, features=30, entries=30.0)
RATES = Rates(double=1e10, single=2e10, values=1e8, moved=1e10)


@pytest.fixture
def known_machine(monkeypatch):
    """Rates that are the same everywhere."""
    monkeypatch.setattr(costs, "rates", lambda: RATES)


def test_every_registered_part_has_a_cost(known_machine):
    assert costs.APPROXIMATIONS.keys() == APPROXIMATIONS.keys()
    assert costs.SOLVERS.keys() == SOLVERS.keys()
    for name, kind in APPROXIMATIONS.items():
        for solver, spec in SOLVERS.items():
            if kind.offers(spec.needs):
                cost = costs.cost_of(name, {}, solver, {}, ROWS)
                assert 0 < cost.seconds < 1e7, (name, solver)
                assert cost.bytes > 0
                assert cost.seconds == pytest.approx(sum(cost.stages.values()))


@pytest.mark.parametrize(
    ("machine", "power"),
    [(LASN(100), 1), (LLSVM(100), 1), (FPC(2), 1), (KernelMachine("exact"), 3)],
    ids=["LASN", "LLSVM", "FPC", "exact"],
)
def test_time_grows_with_the_rows_as_the_work_does(machine, power, known_machine):
    few, many = (machine.cost_on(Sizes(n, 10, 10.0)) for n in (200_000, 2_000_000))
    assert many.seconds / few.seconds == pytest.approx(10**power, rel=0.15)


def test_landmarks_settings_and_classes_count(known_machine):
    def seconds(machine, problems=1):
        return machine.cost_on(Sizes(50_000, 30, 30.0, problems)).seconds

    assert LASN(300).cost_on(ROWS).rank == 300
    assert LASN().cost_on(ROWS).rank == round(20_000**0.5)
    assert LASN(landmarks=np.ones((7, 30))).cost_on(ROWS).rank == 7
    assert seconds(LASN(800)) > 3 * seconds(LASN(200))
    assert seconds(LASN(200)) > seconds(LASN(200, landmarks="uniform"))
    assert seconds(LASN(400), 10) > 2 * seconds(LASN(400))
    assert seconds(LLSVM(200, runs=10)) > 1.5 * seconds(LLSVM(200, runs=1))
    assert seconds(FPC(max_degree=2)) > seconds(FPC(2))  # the degree is chosen, then it is fitted
    assert seconds(SparseCholeskySVC(sigma="cv")) > 20 * seconds(SparseCholeskySVC())
    assert seconds(HSSSVC(max_iter=1000, tol=1e-3)) > seconds(HSSSVC())


def test_rows_are_looked_at_through_the_door(known_machine):
    X = np.random.default_rng(0).normal(size=(300, 8))
    y = np.sign(X[:, 0])
    assert LASN(20).predict_cost(X, y) == LASN(20).cost_on(Sizes(300, 8, 8.0))
    sparse = sp.random(300, 1000, density=0.01, format="csr", random_state=0)
    assert LASN(20).predict_cost(sparse, y) == LASN(20).cost_on(Sizes(300, 1000, 10.0))
    three = LASN(20).predict_cost(X, np.arange(300) % 3)
    assert three == LASN(20).cost_on(Sizes(300, 8, 8.0, 3))
    assert LASNRegressor(20).predict_cost(X, X[:, 1]).seconds > 0
    with pytest.raises(ValueError, match="2 classes"):
        LASN(20).predict_cost(X, np.ones(300))
    with pytest.raises(ValueError, match="NaN"):
        LASN(20).predict_cost(np.where(X > 2, np.nan, X), y)


# HSSSVC stops after the paper's ten steps, and says so; what it costs is looked at.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_says_beforehand_what_its_fit_has(name, known_machine):
    X, y = make_moons(400, noise=0.2, random_state=0)
    machine = ESTIMATORS[name]()
    cost = machine.predict_cost(X, y)
    assert not [attribute for attribute in vars(machine) if attribute.endswith("_")]
    machine.fit(X, y)
    rank = len(X) if machine.approximation == "hss" else machine.approximation_.rank_
    assert rank <= cost.rank <= 2 * rank
    assert machine.nbytes_ <= cost.bytes
    assert 0.0 < cost.seconds < 10.0
    assert sum(cost.stages.values()) == pytest.approx(cost.seconds) or "choose" in cost.stages


def held_by(n, k):
    """The most bytes of a fit beside those of the process before it (in a process of its own)."""
    from kernlab.lab.engine.measuring import peak_memory

    X = np.random.default_rng(0).normal(size=(n, 5))
    y = np.sign(X[:, 0] + X[:, 1] ** 2 - 1)
    LASN(10, random_state=0).fit(X[:500], y[:500])
    with peak_memory() as peak:
        LASN(k, random_state=0).fit(X, y)
    return peak.bytes_added


def test_predicted_memory_is_what_a_fit_holds(known_machine):
    """Within a factor of 1.6 for matrices of some 200 MB, whatever the allocator keeps."""
    n, k = 60_000, 800
    held, _ = call_limited(held_by, (n, k), 6e9)
    predicted = LASN(k).cost_on(Sizes(n, 5, 5.0)).bytes
    assert predicted / 1.6 < held < 1.6 * predicted
