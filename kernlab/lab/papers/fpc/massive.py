"""FPC's Tables V to VII: SUSY, HIGGS, and images by their features."""

from functools import partial

import numpy as np

from kernlab.datasets import load_dataset
from kernlab.estimators import FPC
from kernlab.lab.baselines import BASELINES
from kernlab.lab.engine import Study, Tolerance, as_cells, catalogued, means, one_of, product
from kernlab.lab.papers.common.cells import SECONDS
from kernlab.lab.papers.common.fitting import accuracy, fitted_row, samples
from kernlab.lab.papers.fpc.tables import BOOSTING, PAPERS, SETTINGS, measured_row

TABLES = {
    # id: full set, labelled part, features, degree, centres of the space and of the paper
    "fpc-t5": ("susy", "susy-30000", 8, 5, (1287, 1652), 4_000_000, range(1500, 1701, 20)),
    "fpc-t6": ("higgs", "higgs-7500", 28, 2, (435, 498), 10_000_000, range(300, 501, 20)),
}
TOLERANCES = {
    "accuracy": Tolerance(absolute=1.0, better="higher", reason="points; other splits"),
    "training time": SECONDS,
    "degree": Tolerance(reason="a whole number"),
    "centres": Tolerance(relative=0.1, reason="the paper's grid has steps of 20"),
    "trees": Tolerance(relative=0.25, reason="chosen anew on each split"),
}
SHARE = {"quick": 200, "standard": 10, "paper": 1}  # of the rows that are generated
TABLE = one_of(*TABLES)


@catalogued("fpc-t6", "Table VI: HIGGS, 10 million rows", table="fpc-t6")
@catalogued("fpc-t5", "Table V: SUSY, 4 million rows", table="fpc-t5")
def massive(rows=None, centres=None, degree=None, seed=0, table: TABLE = "fpc-t5"):
    """How accurate, fast and small is FPC on millions of rows?

    A linear machine by stochastic gradient descent stands beside it, where the paper prints one.

    The real files are read where they are at hand. Otherwise a labelled part of each stands for the
    accuracy, and generated rows, of the full size under the profile "paper", for time and memory.
    """
    full, part, d, papers_degree, known, printed_rows, candidates = TABLES[table]
    degree = degree or papers_degree
    linear = ("SGD",) if table == "fpc-t5" else ()

    def grid(profile):
        size = {"rows": rows or printed_rows // SHARE[profile], "features": d, "degree": degree}
        generated = product("generated", "FPC", "time and memory", centres=centres or known, **size)
        generated += product("generated", linear, "time and memory", centres=0, **size)
        if profile == "quick":
            return generated
        labelled = product(part, [*SETTINGS, *linear], "labelled part", degree=degree)
        chosen = centres or (candidates if profile == "paper" else candidates[::5])
        real = product(full, "FPC", "the real file", degree=degree, centres=chosen)
        real += product(full, linear, "the real file", degree=degree, centres=0)
        return real + labelled + generated

    return Study(
        grid=grid,
        measure=measure_massive,
        timing=True,
        key_figures=_key_figures,
        measured=partial(_measured, table),
        tolerances=TOLERANCES,
    )


def measure_massive(point, seed):
    sgd = BASELINES["sgd"].make(random_state=seed)
    if point.dataset == "generated":
        X, y = generated_rows(point["rows"], point["features"], seed)
        degree, n = point["degree"], point["centres"]
        FPC(degree).fit(X[:2000], y[:2000])  # compiled before the clock starts
        model = sgd if point.method == "SGD" else FPC(degree, n_centres=n, tol=0.0, max_iter=5)
        return generated_fit(model, X, y)
    data = load_dataset(point.dataset, paper="fpc")
    if point.method == "SGD":
        return fitted_row(sgd, data)
    if point.variant == "the real file":
        model = FPC(point["degree"], n_centres=point["centres"])
    else:
        model = FPC("cv", validation=(data.X_valid, data.y_valid), **SETTINGS[point.method])
    row = fitted_row(model, data)
    return row | {"n_centres": model.n_centres_, "chosen_degree": model.degree_}


def generated_fit(model, X, y):
    """The row of a fit on generated rows; how good it is means little."""
    row = fitted_row(model, samples(X, y)) | {"data_bytes": X.nbytes + y.nbytes}
    row["train_accuracy"] = accuracy(model.predict(X[:100_000]), y[:100_000])
    if isinstance(model, FPC):
        row |= {"n_centres": model.n_centres, "chosen_degree": model.degree_}
    return row


def generated_rows(m, d, seed):
    """Rows in the unit cube whose labels follow a smooth curve, one in ten of them reversed."""
    rng = np.random.default_rng(seed)
    X = rng.random((m, d))
    height = np.sin(3.0 * X[:, 0]) + X[:, 1] * X[:, 2] - X[:, -1] ** 2
    y = np.where((height > 0.5) != (rng.random(m) < 0.1), 1.0, -1.0)
    return X, y


def _key_figures(table):
    figures = {}
    for row in table.itertuples():
        name = f"{row.dataset}, {row.method}"
        name += f", {row.n_centres:.0f} centres" if row.n_centres > 0 else ""
        if row.dataset == "generated":
            reached = f"training accuracy {100 * row.train_accuracy:.0f} %"
            figures[f"{name}, {row.n_train:,} rows"] = reached
        else:
            figures[name] = f"test accuracy {100 * row.test_accuracy:.1f} %"
    return figures


def _measured(table_id, table):
    """From the real file, by the validation rows; the time also from generated rows of its size."""
    full, _, _, _, _, rows, _ = TABLES[table_id]
    cells = []
    for row in table[(table["dataset"] == full) & (table["method"] == "SGD")].itertuples():
        cells += [
            ("SGD", "accuracy", 100.0 * row.test_accuracy),
            ("SGD", "training time", row.fit_seconds),
        ]
    table = table[table["method"] != "SGD"]
    real = table[table["dataset"] == full]
    if len(real):
        best = real.loc[real["cv_accuracy"].idxmax()]
        cells += [
            ("FPC", "accuracy", 100.0 * best["test_accuracy"]),
            ("FPC", "training time", best["fit_seconds"]),
            ("FPC", "degree", best["chosen_degree"]),
            ("FPC", "centres", best["n_centres"]),
        ]
    else:
        same_size = table[(table["dataset"] == "generated") & (table["n_train"] == rows)]
        if len(same_size):
            slowest = same_size.loc[same_size["n_centres"].idxmax()]
            cells.append(("FPC", "training time", slowest["fit_seconds"]))
    return as_cells(cells)


IMAGE_CENTRES = range(300, 501, 20)


@catalogued("fpc-t7", "Table VII: Dogs vs. Cats by 1024 features")
def images(repeats=None, seed=0):
    """How does FPC do on images that a deep network has turned into features?

    Nothing runs without the feature file, which nobody but its owner can supply. Gradient boosting
    of decision trees, with whole and with small steps, stands in for the boosting that is printed.
    """

    def grid(profile):
        if profile == "quick":
            return []
        paper = profile == "paper"
        times, budget = repeats or (50 if paper else 2), "paper" if paper else "coarse"
        return product("dogs-vs-cats", [*BOOSTING, *PAPERS], repeats=times, budget=budget)

    return Study(
        grid=grid,
        measure=measure_images,
        timing=True,
        key_figures=means("test_accuracy", by=("method",)),
        measured=_image_measured,
        tolerances=TOLERANCES,
        needs=("dogs-vs-cats",),
    )


def measure_images(point, seed):
    data = load_dataset("dogs-vs-cats", paper="fpc", seed=point.repeat)
    if point.method != "FPC":
        return measured_row(point.method, data, point["budget"], seed)
    scores = {}
    for degree in (1, 2):
        for n in IMAGE_CENTRES:
            model = FPC(degree, n_centres=min(n, len(data.y_train)))
            model.fit(data.X_train, data.y_train)
            scores[degree, n] = accuracy(model.predict(data.X_valid), data.y_valid)
    degree, n = max(scores, key=scores.get)
    model = FPC(degree, n_centres=min(n, len(data.y_train)))
    return fitted_row(model, data) | {"chosen_degree": degree, "sparsity": n}


def _image_measured(table):
    cells, own = [], {"FPC": {"degree": "chosen_degree", "centres": "sparsity"}}
    own["RF"] = {"trees": "sparsity"}
    for method, rows in table.groupby("method", sort=False):
        cells.append((method, "accuracy", 100.0 * rows["test_accuracy"].mean()))
        cells.append((method, "training time", rows["fit_seconds"].mean()))
        columns = own.get(method, {}).items()
        cells += [(method, printed, rows[column].mean()) for printed, column in columns]
    return as_cells(cells)
