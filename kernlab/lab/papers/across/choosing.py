"""What `recommend` finds within its budget, on the rows and under the seeds of the showdown."""

from functools import cache

import numpy as np
from sklearn.datasets import make_moons

from kernlab import recommend
from kernlab.lab.engine import Choice, Positive, catalogued, product
from kernlab.lab.engine.record import recorded
from kernlab.lab.papers.across.protocol import (
    BUDGETS,
    SETS,
    best_kernel_error,
    loaded,
    scaling_of,
    settings_of,
)
from kernlab.lab.papers.common.fitting import accuracy, seconds_of, shape_of

MEMORY = "4GB"
ALLOWED = 0.005  # of error, above the best kernel machine of the showdown


@catalogued("recommended", "What recommend finds in a minute", paper="across")
def recommended(
    profile, datasets=Choice(("magic",), tuple(SETS)), budget: Positive = Choice(5.0, 60.0),
    repeats=Choice(1, 1, 5), seed=0,
):  # fmt: skip
    """Does `recommend` reach the error of the best kernel machine, told nothing but its budget?

    `budget` is the seconds for all that it does: looking at the rows, search, and fit.
    """
    train, test = BUDGETS[profile][:2]
    size = {"rows": train, "test_rows": test, "scaling": scaling_of}
    return product(datasets, "recommend", repeats=repeats, budget=budget, **size)


@recommended.measure(timing=True, by_the_clock=True)
def measure_recommended(point, seed):
    """Choose, search and fit within the budget; test rows are seen once, at the end."""
    limits = point["rows"], point["test_rows"]
    data = loaded(point.dataset, point["scaling"], *limits, point.repeat)
    _compiled()
    found = recommend(
        data.X_train, data.y_train, seconds=point["budget"], memory=MEMORY, fit=True,
        random_state=seed % 2**31,
    )  # fmt: skip
    machine = found.estimator
    predicted, seconds = seconds_of(lambda: machine.predict(data.X_test))
    share = accuracy(predicted, data.y_test)
    chosen = {"gamma": machine.gamma, "C": machine.C}
    if hasattr(machine, "n_landmarks"):
        chosen = {"k": machine.n_landmarks} | chosen
    return shape_of(data.X_train) | {
        "fit_seconds": found.seconds,
        "predict_seconds": seconds,
        "cv_accuracy": float(found.curve["accuracy"].max()),
        "test_accuracy": share,
        "error": 1.0 - share,
        "gap": found.certificate,
        "settings_tried": len(found.curve),
        "chosen": f"{type(machine).__name__}, "
        + ", ".join(f"{name}={value:.4g}" for name, value in chosen.items()),
    }


@cache
def _compiled():
    """Compiled code is warm before the budget begins."""
    recommend(*make_moons(300, noise=0.2, random_state=0), seconds=20, fit=True)


def beside_showdown(table):
    """Errors of `recommend` beside the least ones in the showdown on record, by data set.

    Returns
    -------
    DataFrame
        dataset, error, best_kernel, best (NaN where the set is not on record), fit_seconds.
    """
    rows = table.groupby("dataset", sort=False)[["error", "fit_seconds"]].median().reset_index()
    known = recorded("showdown")
    if known is None:
        return rows.assign(best_kernel=np.nan, best=np.nan)
    settings = settings_of(known[known["status"] == "ok"])
    least = settings.groupby("dataset")["error"].min()
    return rows.assign(
        best_kernel=rows["dataset"].map(best_kernel_error(settings)),
        best=rows["dataset"].map(least),
    )


@recommended.key_figures("{dataset}")
def _searched(rows):
    """The rows that it was given: what it finds depends on how fast the machine is."""
    return f"{rows['n_train'].max():,.0f} rows"
