"""LASN's Figures 2 to 6: accuracy and time against the number of landmarks, and against C."""

import time
from functools import partial

import numpy as np

from kernlab.approximations import Nystrom
from kernlab.datasets import load_dataset
from kernlab.estimators import LASN
from kernlab.lab.engine.base import Point, Study, Tolerance
from kernlab.lab.papers.common.cells import as_cells, growth_cell
from kernlab.lab.papers.common.fitting import accuracy, fitted_row, warm_up
from kernlab.solvers import solve_newton

LANDMARKS = (50, 100, 200, 500, 1000)
COSTS = tuple(10.0**e for e in range(-4, 5))
GROUPS = {
    "large": ("rcv1", "news20", "real-sim"),
    "medium": ("cod-rna", "a9a", "gisette"),
    "small": ("skin_nonskin", "a2a", "ijcnn1"),
}
STAND_INS = ("magic", "liver-disorders")  # small sets that come with kernlab
REPEATS = {"quick": 1, "standard": 3, "paper": 10}


def _names(group, profile):
    if profile != "quick":
        return GROUPS[group]
    return STAND_INS if group == "small" else ()


def _landmark_grid(group, profile):
    """Landmarks drawn anew for every k, as in the paper, and one nested map for all k."""
    points = []
    for name in _names(group, profile):
        for repeat in range(REPEATS[profile]):
            points += [
                Point.make(name, "LASN", "drawn per k", repeat, n_landmarks=k) for k in LANDMARKS
            ]
            points.append(Point.make(name, "LASN", "one nested map", repeat, n_landmarks=1000))
    return points


def _measure_landmarks(point, seed):
    data = load_dataset(point.dataset, paper="lasn-cv", seed=point.repeat)
    if point.variant == "one nested map":
        return _nested_sweep(data, seed)
    k = min(point["n_landmarks"], data.X_train.shape[0])
    model = LASN(n_landmarks=k, C=10.0, random_state=seed)
    warm_up(model.set_params(n_landmarks=10), data)
    return {"landmarks": k} | fitted_row(model.set_params(n_landmarks=k), data)


def _nested_sweep(data, seed):
    """Every k from the features of the largest: the first k columns are those of k landmarks."""
    largest = min(max(LANDMARKS), data.X_train.shape[0])
    began = time.perf_counter()
    nystrom = Nystrom(gamma="variance", n_landmarks=largest, random_state=seed)
    features = nystrom.fit_transform(data.X_train)
    mapped = time.perf_counter() - began
    y = signs(data, data.y_train)
    parts = {
        "cv_accuracy": (data.X_valid, data.y_valid),
        "test_accuracy": (data.X_test, data.y_test),
    }
    parts = {
        name: (nystrom.transform(X), signs(data, labels))
        for name, (X, labels) in parts.items()
        if labels is not None and len(labels)
    }
    rows = []
    for k in sorted({min(k, nystrom.rank_) for k in LANDMARKS}):
        result = solve_newton(features[:, :k], y, C=10.0, intercept="penalised")
        rows.append(
            {
                "landmarks": k,
                "n_train": len(y),
                "n_features": data.X_train.shape[1],
                "approximate_seconds": mapped,
                "solve_seconds": result.seconds,
                "objective": result.objective,
                "gap": result.relative_gap,
                "kkt_residual": result.kkt_residual,
                "n_iter": result.n_iter,
                **{
                    name: accuracy(
                        F[:, :k] @ result.coefficients + result.intercept > 0, labels > 0
                    )
                    for name, (F, labels) in parts.items()
                },
            }
        )
    return rows


def signs(data, labels):
    """Labels as 1 for the set's positive label and -1 for the other."""
    return np.where(labels == data.info["positive"], 1.0, -1.0)


def _cost_grid(group, profile):
    return [
        Point.make(name, "LASN", repeat=repeat, n_landmarks="sqrt", C=C)
        for name in _names(group, profile)
        for repeat in range(REPEATS[profile])
        for C in COSTS
    ]


def _measure_cost(point, seed):
    data = load_dataset(point.dataset, paper="lasn-cv", seed=point.repeat)
    model = LASN(n_landmarks=10, C=point["C"], random_state=seed)
    warm_up(model, data)
    return fitted_row(model.set_params(n_landmarks=point["n_landmarks"]), data)


def _landmark_key_figures(table):
    """Accuracy at the smallest and the largest k, and whether every solution is certified."""
    figures = {}
    for (name, variant), rows in table.groupby(["dataset", "variant"], sort=False):
        means = rows.groupby("landmarks")["test_accuracy"].mean()
        figures[f"{name}, {variant}"] = (
            f"k = {means.index[0]}: {100 * means.iloc[0]:.1f} %, "
            f"all landmarks: {100 * means.iloc[-1]:.1f} %"
        )
    worst = table["kkt_residual"].max()
    return figures | {
        "gradient relative to the start": "at most 1e-6" if worst <= 1e-6 else "above"
    }


def _cost_key_figures(table):
    figures = {}
    for name, rows in table.groupby("dataset", sort=False):
        means = rows.groupby("C")["test_accuracy"].mean()
        figures[name] = ", ".join(f"C = {C:g}: {100 * means[C]:.1f} %" for C in (1e-4, 10.0, 1e4))
    return figures


def _landmark_measured(group, table):
    """How time grows with k on the sets of the figure, landmarks drawn anew for each k."""
    theirs = table["dataset"].isin(GROUPS[group]) & (table["variant"] == "drawn per k")
    return as_cells([growth_cell(table[theirs], "landmarks")])


SETTLED = 0.005  # of accuracy


def _cost_measured(table):
    """What the text says of Figure 5: where accuracy settles, and where time rises most."""
    medium = table[table["dataset"].isin(GROUPS["medium"])]
    labels = (
        ("accuracy", "stable from C"),
        *(("training time", f"C of the steep rise {end}") for end in ("from", "to")),
    )
    if medium.empty:
        return as_cells([(*label, np.nan, "it takes the paper's medium sets") for label in labels])
    accuracies = medium.groupby("C")["test_accuracy"].mean()
    seconds = medium.groupby("C")["fit_seconds"].mean()
    stable = [
        C for C in accuracies.index if (accuracies[C:] - accuracies[C]).abs().max() <= SETTLED
    ]
    steepest = int(np.argmax(np.diff(np.log(seconds))))
    values = stable[0], *seconds.index[[steepest, steepest + 1]]
    return as_cells([(*label, value) for label, value in zip(labels, values, strict=True)])


def _study(figure, group, kind):
    grids = {"landmarks": _landmark_grid, "C": _cost_grid}
    measures = {"landmarks": _measure_landmarks, "C": _measure_cost}
    key_figures = {"landmarks": _landmark_key_figures, "C": _cost_key_figures}
    what = "the number of landmarks" if kind == "landmarks" else "C"
    return Study(
        id=f"lasn-f{figure}",
        paper="lasn",
        title=f"Figure {figure}: {what}, {group} sets",
        question=f"How do accuracy and time depend on {what} on {group} data sets?",
        grid=partial(grids[kind], group),
        measure=measures[kind],
        timing=True,
        key_figures=key_figures[kind],
        measured=_compared(group, kind),
        tolerances={"exponent in k": Tolerance(absolute=0.25, better="lower")},
        needs=GROUPS[group],
    )


def _compared(group, kind):
    """How a figure is set beside its paper's words; the small sets' C sweep has none."""
    if kind == "landmarks":
        return partial(_landmark_measured, group)
    return _cost_measured if group == "medium" else None


STUDIES = (
    _study(2, "large", "landmarks"),
    _study(3, "medium", "landmarks"),
    _study(4, "small", "landmarks"),
    _study(5, "medium", "C"),
    _study(6, "small", "C"),
)
