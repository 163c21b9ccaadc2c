"""Which setting of FPC's toy gives the test errors that the paper states for Simulation 1?

It prints 0.01235 at a tolerance of 10^-3.2 and 0.01153 at 10^-5, with 3 and 1734 steps. The rows as
Section V describes them take as many steps, but err more, and more rather than less often at the
finer tolerance. Other readings of the text are tried here, against test rows so many that their own
chance is nothing. None gives both errors and both counts: only noise on fewer labels makes the
finer tolerance the better one, and that takes more steps than were printed.

The printed errors cannot be the means that the text says they are, either: over 50 repeats of 1000
test rows each a mean is a whole multiple of 0.00002, and neither number is one.
"""

import numpy as np

from kernlab.datasets import generators
from kernlab.lab.engine import Study, catalogued, product
from kernlab.lab.papers.fpc.toy import course_of

READINGS = {
    "as written": {},
    "5 % reversed": {"noise": 0.05},  # what is left of 10 % whose labels are drawn anew
    "no noise": {"noise": 0.0},
    "rows mapped to [-1, 1]": {"symmetric": True},
    "uniform centres": {"centres": "uniform"},
    "200 centres": {"n_centres": 200},
    "3,000 rows": {"rows": 3000},
}
EXPONENTS = (3.2, 5.0)
TEST_ROWS = 20_000
REPEATS = {"quick": 1, "standard": 20, "paper": 50}
STATED = {3.2: 0.01235, 5.0: 0.01153}


@catalogued("fpc-f6-readings", "Readings of Simulation 1")
def readings(repeats=None):
    """Which reading of the toy gives the stated errors, 1.2 % at either tolerance?"""

    def grid(profile):
        return product("fpc-toy", "FPC", READINGS, repeats or REPEATS[profile])

    return Study(grid=grid, measure=measure_reading, key_figures=_key_figures)


def measure_reading(point, seed):
    reading = {"noise": 0.1, "rows": 1000, "symmetric": False} | READINGS[point.variant]
    noise, rows, symmetric = (reading.pop(name) for name in ("noise", "rows", "symmetric"))
    X, y = generators.fpc_toy(rows, noise=noise, seed=[point.repeat, 0])
    X_test, y_test = generators.fpc_toy(TEST_ROWS, noise=0.0, seed=[point.repeat, 1])
    if symmetric:
        X, X_test = 2.0 * X - 1.0, 2.0 * X_test - 1.0
    waiting, passed = list(EXPONENTS), []

    def watch(row):
        while waiting and row["change"] < 10.0 ** -waiting[0]:
            passed.append((waiting.pop(0), row))

    _, fitted = course_of(
        X, y, tol=10.0 ** -EXPONENTS[-1], max_iter=20_000, callback=watch,
        map_settings={"scaling": "none", "random_state": point.repeat} | reading,
    )  # fmt: skip
    return [
        {
            "exponent": exponent,
            "n_train": len(X),
            "n_iter": row["iteration"],
            "test_error": float(
                np.mean(np.sign(fitted.decision(X_test, row["coefficients"])) != y_test)
            ),
            "stated_error": STATED[exponent],
        }
        for exponent, row in passed
    ]


def _key_figures(table):
    figures = {}
    for reading, rows in table.groupby("variant", sort=False):
        errors = 100 * rows.groupby("exponent")["test_error"].mean()
        most = rows.groupby("exponent")["n_iter"].max()
        figures[reading] = (
            f"{errors.loc[3.2]:.1f} % after {most.loc[3.2]}, {errors.loc[5.0]:.1f} % after at most "
            f"{most.loc[5.0]} steps"
        )
    return figures
