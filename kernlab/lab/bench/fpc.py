"""FPC against support vector machines, and alone on millions of rows: seconds, bytes, steps.

The support vector machines on MAGIC have the parameters that did best on the validation rows of
the first repeat. All run in one process with all threads that they can use, compiled code warm.
"""

from functools import partial

import numpy as np

from kernlab.datasets import load_dataset, protocol_rows
from kernlab.estimators import FPC
from kernlab.lab.baselines import LibSVM
from kernlab.lab.bench.harness import Asked, Growth, compared, timed
from kernlab.lab.engine import catalogued, product
from kernlab.lab.papers.common.fitting import accuracy, fitted_row, shape_of
from kernlab.lab.papers.fpc.tables import generated_fit, generated_rows
from kernlab.lab.papers.fpc.toy import MACHINES, course_of, toy
from kernlab.lab.published import printed

MAGIC = {
    **{name: partial(FPC, 3, **settings) for name, settings in MACHINES.items()},
    "SVC-RBF": partial(LibSVM, C=32.0, gamma=4.0, cache_size=1000),
    "SVC-Poly": partial(
        LibSVM, C=1.0, kernel="polynomial", degree=6, gamma=1.0, coef0=1.0, cache_size=1000
    ),
}
# rows, features, degree, centres (those of the spaces, and the paper's), what is asked
MASSIVE = (
    (4_000_000, 8, 5, 1287, "at most 150 s, 3 GB with the data"),
    (4_000_000, 8, 5, 1652, "the paper's centres: 733 s there"),
    (10_000_000, 28, 2, 435, "at most 100 s, 0.5 GB beyond the data"),
    (10_000_000, 28, 2, 498, "the paper's centres: 276 s there"),
)
SCALING = (400_000, 800_000, 1_600_000, 2_800_000, 4_000_000)
# repeats of fits, of growing rows and of Table II; and the share of the rows that is taken
SIZES = {"quick": (1, 1, 2, 200), "standard": (5, 3, 20, 1), "paper": (20, 5, 50, 1)}
STEPS_ASKED = {3.2: "3 to 5 iterations", 5.0: "more than 1000 iterations"}


@catalogued("bench-fpc", "FPC against support vector machines, and on millions of rows")
def polynomials(profile):
    """How fast and how small is FPC, on thousands of rows and on ten millions?"""
    repeats, grown, tables, share = SIZES[profile]
    sets = [name for name, _ in protocol_rows("fpc-t1")[1]]
    methods = [*MAGIC]
    if profile == "quick":
        sets = [name for name in sets if name in ("breast-cancer", "magic")]
        methods = [name for name in MAGIC if not name.startswith("SVC")]
    points = product("magic", methods, "fit", repeats)
    points += product(sets, "FPC", "Table II", tables)
    for m, d, s, n, _ in MASSIVE:
        points += product(
            "generated", "FPC", "massive", rows=m // share, columns=d, degree=s, centres=n
        )
    rows = [m // share for m in SCALING]
    points += product(
        "generated", "FPC", "scaling", grown, rows=rows, columns=8, degree=5, centres=1287
    )
    return points + product("fpc-toy", "FPC", "tolerance", 2 * repeats, exponent=[*STEPS_ASKED])


def _measure(point, seed):
    if point.dataset == "fpc-toy":
        return _measure_tolerance(point)
    if point.dataset == "generated":
        return _measure_generated(point)
    data = load_dataset(point.dataset, paper="fpc", seed=point.repeat)
    if point.variant == "fit":
        return timed(MAGIC[point.method](), data)
    # The degree by the validation rows; the time is that of all degrees.
    model = FPC(validation=(data.X_valid, data.y_valid))
    row = fitted_row(model, data)
    return row | {"chosen_degree": model.degree_, "n_centres": model.n_centres_}


def _measure_generated(point):
    X, y = generated_rows(point["rows"], point["columns"], seed=0)
    FPC(point["degree"]).fit(X[:2000], y[:2000])
    model = FPC(point["degree"], n_centres=point["centres"], tol=0.0, max_iter=5)
    return generated_fit(model, X, y)


def _measure_tolerance(point):
    X, y, X_test, y_test = toy(1000, point.repeat)
    result, fitted = course_of(X, y, tol=10.0 ** -point["exponent"], max_iter=20_000)
    decided = np.sign(fitted.decision(X_test, result.coefficients))
    return shape_of(X) | {
        "solve_seconds": result.seconds,
        "n_iter": result.n_iter,
        "test_accuracy": accuracy(decided, y_test),
    }


# ------------------------------------------------------------------------------ what was asked
def _on_magic(other, asked):
    of = {"dataset": "magic", "variant": "fit", "method": "FPC"}
    return Asked(f"magic, degree 3, against {other}", of, {"method": other}, asked)


def _beside_table(row, others):
    """The points by which the mean accuracy differs from that of Table II."""
    mean = 100 * others["test_accuracy"].mean()
    beside = mean - printed("fpc-t2")[row["dataset"], "FPC accuracy"]
    asked = f"ratio: points beside Table II, within one; {len(others)} repeats"
    return {"accuracy": mean / 100, "ratio": beside, "asked": asked}


def _beyond(m, asked, row, others):
    """What the fit of all rows holds beside them; of fewer rows nothing was asked."""
    beyond = max(0.0, row["peak_bytes"] - row["data_bytes"]) / 1e9
    said = f"; {beyond:.2f} GB beyond the data"
    return {"memory": row["peak_bytes"], "asked": asked + said if row["n_train"] == m else ""}


ASKED = (
    _on_magic("SVC-RBF", "20x faster"),
    _on_magic("SVC-Poly", "100x faster"),
    Asked(
        "{dataset}, degree by validation", {"variant": "Table II"}, {}, each=("dataset",),
        cells=_beside_table,
    ),
    *(
        Asked(
            "{n_train:,.0f} x {columns:.0f}, degree {degree:.0f}, {centres:.0f} centres",
            {"variant": "massive", "centres": n}, cells=partial(_beyond, m, asked),
        )
        for m, _, _, n, asked in MASSIVE
    ),
    Growth({"variant": "scaling"}, "exponent at most 1.02", size="rows"),
    *(
        Asked(
            f"toy, tolerance 10^-{exponent:g}", {"variant": "tolerance", "exponent": exponent},
            asked=asked + " (took {n_iter:.0f})", seconds="solve_seconds",
        )
        for exponent, asked in STEPS_ASKED.items()
    ),
)  # fmt: skip

polynomials.measure(_measure, timing=True, comparison=partial(compared, ASKED))
