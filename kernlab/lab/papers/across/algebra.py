"""The algebra: every approximation with every solver that can use it, on the same rows."""

import itertools
import warnings

import numpy as np

from kernlab.approximations import APPROXIMATIONS
from kernlab.approximations.polynomial import space_dimension
from kernlab.estimators import KernelMachine
from kernlab.kernels import resolve_gamma
from kernlab.lab.engine import Choice, NotRun, catalogued, one_of, per_cent, product, several
from kernlab.lab.papers.across.protocol import loaded, scaling_of, some_rows
from kernlab.lab.papers.common.fitting import fitted_row
from kernlab.solvers import SOLVERS

SETS = Choice(("magic",), ("magic", "cod-rna", "a9a"))
TEST_ROWS = 2000
# Kernels of its own: a polynomial's degree takes the place of gamma.
OWN_KERNEL = ("polynomial",)


@catalogued("algebra", "Every approximation with every solver", paper="across")
def algebra(
    datasets=SETS, approximations: several(one_of(*APPROXIMATIONS)) = Choice(tuple(APPROXIMATIONS)),
    solvers: several(one_of(*SOLVERS)) = Choice(tuple(SOLVERS)), n_landmarks=100,
    rows=Choice(300, 3000, 20_000), C=1.0, seed=0,
):  # fmt: skip
    """Which solvers can use which approximation, and do they agree where they solve one problem?

    All with the loss that is each solver's first and a penalised intercept, which all of them have.

    Of landmarks there are as many for Nystrom and reduced maps, and twice as many Fourier features.
    """
    size, points = {"rows": rows, "n_landmarks": n_landmarks, "C": C}, []
    for name, a, s in itertools.product(datasets, approximations, solvers):
        one = {"approximation": a, "solver": s, "loss": SOLVERS[s].losses[0]}
        points += product(name, f"{a} + {s}", scaling=scaling_of(name), **one, **size)
    return points


@algebra.measure(timing=True)
def measure_pair(point, seed):
    """Fit one pair; where the parts do not fit the reason is what the machine says."""
    data = loaded(point.dataset, point["scaling"], point["rows"], TEST_ROWS, point.repeat)
    machine = machine_of(point["approximation"], point["solver"], data.X_train, point, seed)
    try:
        machine.plan()
    except ValueError as error:
        raise NotRun(str(error)) from None
    with warnings.catch_warnings(action="ignore"):  # of a few rows
        few = some_rows(data.X_train, data.y_train, 120, seed)
        machine_of(point["approximation"], point["solver"], few[0], point, seed).fit(*few)
    row = fitted_row(machine, data)
    result = machine.result_
    return row | {"error": 1.0 - row["test_accuracy"], "converged": bool(result.converged)}


def machine_of(approximation, solver, X, settings, seed):
    """A pair as it is compared, unfitted."""
    k, n = settings["n_landmarks"], X.shape[0]
    k = int(np.sqrt(n)) if k == "sqrt" else min(k, n)
    further = {
        "nystrom": {"n_landmarks": k},
        "reduced": {"n_landmarks": k},
        "fourier": {"n_components": 2 * k},
        "polynomial": {"n_centres": min(space_dimension(X.shape[1], 2), n, 500), "degree": 2},
        "compact": {"sparsity": 0.8},
        "hss": {"rel_tol": 1e-2},
    }
    own = {} if approximation in OWN_KERNEL else {"gamma": resolve_gamma("variance", X)}
    if approximation == "compact":
        own = {"gamma": "quantile"}
    return KernelMachine(
        approximation, solver, C=settings["C"], loss=SOLVERS[solver].losses[0],
        intercept="penalised", random_state=seed, approximation_params=further.get(approximation),
        **own,
    )  # fmt: skip


def reason(approximation, solver):
    """Why a pair cannot work together, in few words; "" where it can."""
    needs = SOLVERS[solver].needs
    return "" if APPROXIMATIONS[approximation].offers(needs) else f"no {needs}"


def disagreement(table):
    """How far objectives of one problem are apart, relative to the least, by problem."""
    rows = table.dropna(subset="objective")
    groups = rows.groupby(["dataset", "approximation", "loss"], sort=False)["objective"]
    return (groups.max() - groups.min()) / groups.min()


@algebra.key_figures
def _agreement(table):
    figures = {}
    for name, rows in table[table["error"].notna()].groupby("dataset", sort=False):
        best = rows.loc[rows["error"].idxmin()]
        done = rows["converged"].astype(str) == "True"  # text, where some pairs were not run
        close = disagreement(rows[done]).max() <= 0.01
        figures[f"{name}, pairs that work"] = str(len(rows))
        figures[f"{name}, least error"] = f"{best['approximation']} {per_cent(best['error'])}"
        told = "within 1 %" if close else "further than 1 % apart"
        figures[f"{name}, objectives of one problem"] = told
    return figures
