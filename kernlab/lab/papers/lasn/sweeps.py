"""LASN's Figures 2 to 6: accuracy and time against the number of landmarks, and against C."""

from functools import partial

import numpy as np

from kernlab.datasets import load_dataset
from kernlab.estimators import LASN, sweep
from kernlab.lab.engine import Study, as_cells, catalogued, one_of, per_cent, product
from kernlab.lab.papers.common.cells import GROWTH, figures_by, growth_cell
from kernlab.lab.papers.common.fitting import fitted_row, warm_up

LANDMARKS = (50, 100, 200, 500, 1000)
COSTS = tuple(10.0**e for e in range(-4, 5))
GROUPS = {
    "large": ("rcv1", "news20", "real-sim"),
    "medium": ("cod-rna", "a9a", "gisette"),
    "small": ("skin_nonskin", "a2a", "ijcnn1"),
}
EMBEDDED = ("magic", "liver-disorders")  # under the quick profile, among the small sets
REPEATS = {"quick": 1, "standard": 3, "paper": 10}
GROUP = one_of(*GROUPS)
STABLE = 0.005  # of accuracy: from where on it counts as stable


def _sets(group, profile):
    if profile != "quick":
        return GROUPS[group]
    return EMBEDDED if group == "small" else ()


@catalogued("lasn-f2", "Figure 2: the number of landmarks, large sets", group="large")
@catalogued("lasn-f3", "Figure 3: the number of landmarks, medium sets", group="medium")
@catalogued("lasn-f4", "Figure 4: the number of landmarks, small sets", group="small")
def landmark_sweep(
    datasets=None, landmarks=None, C=10.0, repeats=None, seed=0, group: GROUP = "small"
):
    """How do accuracy and time depend on the number of landmarks?

    Landmarks are drawn anew for every k, as in the paper, and nested in those of the largest k.
    """
    ks = landmarks or LANDMARKS

    def grid(profile):
        everywhere = datasets or _sets(group, profile), "LASN"
        times = repeats or REPEATS[profile]
        drawn = product(*everywhere, "drawn per k", times, C=C, n_landmarks=ks)
        nested = " ".join(map(str, ks))
        return drawn + product(*everywhere, "one nested map", times, C=C, nested=nested)

    return Study(
        grid=grid,
        measure=measure_landmarks,
        timing=True,
        key_figures=_landmark_figures,
        measured=partial(_growth, group),
        tolerances={"exponent in k": GROWTH},
        needs=GROUPS[group],
    )


def measure_landmarks(point, seed):
    data = load_dataset(point.dataset, paper="lasn-cv", seed=point.repeat)
    n = data.X_train.shape[0]
    model = LASN(n_landmarks=10, C=point["C"], random_state=seed)
    warm_up(model, data)
    if point.variant == "drawn per k":
        k = min(point["n_landmarks"], n)
        return {"landmarks": k} | fitted_row(model.set_params(n_landmarks=k), data)
    ks = sorted({min(int(k), n) for k in point["nested"].split()})
    table = sweep(
        model, data.X_train, data.y_train, {"n_landmarks": ks},
        validation=(data.X_test, data.y_test), nested=True, progress=False,
    )  # fmt: skip
    return table.rename(
        columns={"n_landmarks": "landmarks", "validation_accuracy": "test_accuracy"}
    )


def _landmark_figures(table):
    """Accuracy at the smallest and the largest k, and whether every solution is certified."""

    def ends(rows):
        means = rows.groupby("landmarks")["test_accuracy"].mean()
        least, most = per_cent(means.iloc[0]), per_cent(means.iloc[-1])
        return f"k = {means.index[0]}: {least}, all landmarks: {most}"

    certified = "at most 1e-6" if table["gap"].max() <= 1e-6 else "above 1e-6"
    return figures_by("{dataset}, {variant}", ends)(table) | {"relative duality gap": certified}


def _growth(group, table):
    theirs = table["dataset"].isin(GROUPS[group]) & (table["variant"] == "drawn per k")
    return as_cells([growth_cell(table[theirs], "landmarks")])


@catalogued("lasn-f5", "Figure 5: C, medium sets", group="medium")
@catalogued("lasn-f6", "Figure 6: C, small sets", group="small")
def cost_sweep(
    datasets=None, costs=None, n_landmarks="sqrt", repeats=None, seed=0, group: GROUP = "small"
):
    """How do accuracy and time depend on C?"""

    def grid(profile):
        return product(
            datasets or _sets(group, profile), "LASN", repeats=repeats or REPEATS[profile],
            n_landmarks=n_landmarks, C=costs or COSTS,
        )  # fmt: skip

    return Study(
        grid=grid,
        measure=measure_cost,
        timing=True,
        key_figures=figures_by("{dataset}", _least_middle_most),
        measured=_stability if group == "medium" else None,  # of the others nothing is said
        needs=GROUPS[group],
    )


def measure_cost(point, seed):
    data = load_dataset(point.dataset, paper="lasn-cv", seed=point.repeat)
    model = LASN(n_landmarks=10, C=point["C"], random_state=seed)
    warm_up(model, data)
    return fitted_row(model.set_params(n_landmarks=point["n_landmarks"]), data)


def _least_middle_most(rows):
    means = rows.groupby("C")["test_accuracy"].mean()
    means = means.iloc[[0, len(means) // 2, -1]]
    return ", ".join(f"C = {C:g}: {per_cent(mean)}" for C, mean in means.items())


def _stability(table):
    """What the text says of Figure 5: from where accuracy is stable, where time rises most."""
    medium = table[table["dataset"].isin(GROUPS["medium"])]
    ends = [("training time", f"C of the steep rise {end}") for end in ("from", "to")]
    labels = [("accuracy", "stable from C"), *ends]
    if medium.empty:
        return as_cells([(*label, np.nan, "it takes the paper's medium sets") for label in labels])
    accuracies = medium.groupby("C")["test_accuracy"].mean()
    seconds = medium.groupby("C")["fit_seconds"].mean()
    stable = [C for C in accuracies.index if (accuracies[C:] - accuracies[C]).abs().max() <= STABLE]
    steepest = int(np.argmax(np.diff(np.log(seconds))))
    values = stable[0], *seconds.index[[steepest, steepest + 1]]
    return as_cells([(*label, value) for label, value in zip(labels, values, strict=True)])
