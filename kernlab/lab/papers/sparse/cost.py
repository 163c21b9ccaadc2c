"""The Swiss roll, and what each stage of the method costs on it; the thesis' double loop."""

import math

import numpy as np

from kernlab.datasets import generators
from kernlab.estimators import SparseCholeskySVC
from kernlab.lab.engine import NotRun, Study, Tolerance, as_cells, catalogued, product
from kernlab.lab.papers.common.cells import figures_by
from kernlab.lab.papers.common.fitting import seconds_in, seconds_of, solved
from kernlab.lab.papers.sparse.matrix import EXPONENT, roll
from kernlab.runtime import MemoryLimitError, njit

NEAR_ROWS = 100  # sigma shrinks with n so that each row keeps about as many
SIZES = {
    "quick": (1000, 2000, 4000, 8000),
    "standard": (1000, 3000, 10_000, 30_000, 100_000),
    "paper": (1000, 3000, 10_000, 30_000, 100_000, 225_000),
}
LOOP_NANOSECONDS = 1.5  # of the double loop for each pair, roughly, for the prediction


def sigma_for(n_rows, near_rows=NEAR_ROWS):
    """The sigma at which a row of the Swiss roll in the unit cube has about so many near rows."""
    return 0.02 * math.sqrt(30_000 / n_rows * near_rows / 96)


@catalogued("sparse-f5", "Figure 5: the Swiss roll in three classes")
def swiss_roll(rows=1500):
    """What do the data look like that the thesis generates?"""

    def grid(profile):
        return product("swiss-roll", "generated", rows=rows)

    return Study(grid=grid, measure=measure_roll, key_figures=_classes, measured=_roll_measured)


def measure_roll(point, seed):
    """The points in space, and where they lie on the unrolled sheet."""
    X, y = generators.swiss_roll(point["rows"], seed=0)
    # The angle along the roll is the distance from its axis: the roll is (t cos t, h, t sin t).
    t = np.hypot(X[:, 0], X[:, 2])
    return [
        {"x1": x1, "x2": x2, "x3": x3, "t": along, "label": label, "n_train": len(y)}
        for (x1, x2, x3), along, label in zip(X, t, y, strict=True)
    ]


def _classes(table):
    shares = table["label"].value_counts(normalize=True).sort_index()
    return {f"class {label:.0f}": f"{share:.0%} of the rows" for label, share in shares.items()}


def _roll_measured(table):
    features = len({"x1", "x2", "x3"} & set(table))
    classes = table["label"].nunique()
    return as_cells([("swiss-roll", "features", features), ("swiss-roll", "classes", classes)])


METHODS = ("double loop", "cholesky", "newton")


@catalogued("sparse-cost", "What each stage costs")
def stages(sizes=None, seed=0):
    """Does assembling the kernel take most of the training time?

    The thesis says so. It holds for its loop over all pairs; assembled by cells the kernel is the
    cheapest stage.
    """

    return Study(
        grid=lambda profile: product("swiss-roll", METHODS, rows=sizes or SIZES[profile]),
        measure=measure_cost,
        timing=True,
        predict_seconds=predict_cost,
        key_figures=figures_by("{method}", _entries_a_row),
        measured=_cost_measured,
        tolerances={"memory": Tolerance(relative=0.01, reason="arithmetic")},
    )


def predict_cost(point):
    if point.method == "double loop":
        return 1e-9 * LOOP_NANOSECONDS * point["rows"] ** 2
    return None


def measure_cost(point, seed):
    """Seconds of each stage; the double loop is the thesis' `sp_rbf`, compiled."""
    n = point["rows"]
    X, y = roll(n)
    sigma = sigma_for(n)
    shared = {"n_train": n, "n_features": 3, "sigma": sigma}
    if point.method == "double loop":
        return shared | _double_loop_row(X, sigma)
    machine = SparseCholeskySVC(sigma=sigma, l=EXPONENT, solver=point.method)
    machine.fit(X[:500], y[:500])  # compiled before the clock starts
    try:
        machine.fit(X, y)
    except MemoryLimitError as error:
        raise NotRun(str(error)) from None
    return shared | {
        "entries": machine.approximation_.matrix_.nnz,
        "entries_of_factor": machine.approximation_.factor_nonzeros_,
        "assemble_seconds": seconds_in(machine, "predict", "sort", "assemble"),
        "factor_seconds": seconds_in(machine, "order", "factor", "features"),
        "solve_seconds": machine.timings_["solve"],
        "approximate_seconds": machine.timings_["approximate"],
        "fit_seconds": machine.timings_["total"],
        **solved(machine.result_, "kkt_residual", "gap", "n_iter"),
    }


def _double_loop_row(X, sigma):
    kernel = 1.0 / (3.0 * sigma), 1.0 / (2.0 * sigma**2), EXPONENT
    _count_pairs(X[:10], *kernel)  # compiled before the clock starts
    (entries, _), seconds = seconds_of(lambda: _count_pairs(X, *kernel))
    return {"entries": entries, "assemble_seconds": seconds, "fit_seconds": seconds}


@njit
def _count_pairs(X, alpha, gamma, exponent):
    """All pairs one after the other, as the listing goes through them, without storing entries."""
    entries, total = 0, 0.0
    for i in range(X.shape[0]):
        for j in range(i, X.shape[0]):
            square = 0.0
            for f in range(X.shape[1]):
                square += (X[i, f] - X[j, f]) ** 2
            rest = 1.0 - alpha * math.sqrt(square)
            if rest > 0.0:
                total += rest**exponent * math.exp(-gamma * square)
                entries += 1 if i == j else 2
    return entries, total


def _entries_a_row(rows):
    largest = rows.loc[rows["rows"].idxmax()]
    return f"{largest['entries'] / largest['rows']:.0f} entries a row at {largest['rows']:,.0f}"


def _cost_measured(table):
    """The text's arithmetic done again: 8 bytes for each entry of 200,000 rows."""
    n, kept = 200_000, 0.05
    slip = (
        "a slip of the text: 5 % of 200,000 squared entries of 8 bytes are 16 GB, or 8 GB "
        "for one triangle; 4 GB would take a sparsity of 98.75 %"
    )
    return as_cells([
        ("setting", "training rows", n),
        ("setting", "bytes an entry", 8),
        ("sparse kernel", "sparsity", 100 * (1 - kept)),
        ("dense kernel", "memory", 8 * n**2 / 1e9, "the printed 160 GB hold one triangle"),
        ("sparse kernel", "memory", 8 * kept * n**2 / 1e9, slip),
    ])  # fmt: skip
