"""Table 2 of the sparse Cholesky thesis: the sparse kernel, LIBSVM and LIBLINEAR on eight sets."""

import numpy as np
import pandas as pd

from kernlab.datasets import load_dataset
from kernlab.datasets.registry import protocol_rows
from kernlab.estimators import SparseCholeskySVC
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.baselines import LibSVM, LinearSVM
from kernlab.lab.engine.base import Point, Study, Tolerance
from kernlab.lab.papers.common.fitting import fitted_row, warm_up
from kernlab.lab.published import published

CHOLESKY, NEWTON, EXACT, LINEAR = "sparse Cholesky", "sparse Newton", "LIBSVM", "linear"
COLUMNS = {CHOLESKY: "sparse RBF", EXACT: "RBF", LINEAR: "linear"}
ACCURACY = Tolerance(absolute=0.01, better="higher")
SECONDS = Tolerance(relative=0.5, better="lower")
QUICK = ("swiss-roll", 0.05)
FASTER = 0.4  # of the published seconds, for a prediction
ROWS = {  # the published row of each run: data set, exponent
    ("covtype-2", 29): "covtype (l = 29)",
    ("covtype-2", 3): "covtype (l = 3)",
    ("usps", 129): "usps (l = 129)",
    ("usps", 3): "usps (l = 3)",
}
SAID = {  # in the text of Section 6, by row
    "swiss-roll-1": ("RBF time, rounded", "sparse RBF time, repeated", "speed-up over RBF"),
    "skin_nonskin": ("speed-up over RBF", "accuracy loss against RBF"),
    "cod-rna": ("time reduction, repeated",),
    "shuttle": ("accuracy loss against RBF",),
}
FIRST_ROWS = ("swiss-roll-1", "swiss-roll-2", "skin_nonskin")


def _sigmas():
    """The published sigma of every set of Table 1."""
    table = published("sparse-t2")
    sigmas = table[table["column"] == "sigma"].set_index("row")["value"]
    by_row = {row.split(" (")[0]: sigma for row, sigma in sigmas.items()}
    return {name: by_row[row] for name, row in protocol_rows("sparse")[1]}


def _exponents(n_features):
    """The listing's exponent, the text's where it is another, and 3 where that is below both."""
    plain = n_features // 2 + 1
    return tuple(dict.fromkeys((plain | 1, plain, min(plain, 3))))


FEATURES = {"swiss-roll-1": 3, "swiss-roll-2": 3, "skin_nonskin": 3, "covtype-2": 54}
FEATURES |= {"cod-rna": 8, "shuttle": 9, "a6a": 123, "usps": 256}


def _grid(profile):
    sets = {QUICK[0]: QUICK[1]} if profile == "quick" else _sigmas()
    points = []
    for name, sigma in sets.items():
        for exponent in _exponents(FEATURES.get(name, 3)):
            for method in (CHOLESKY, NEWTON):
                points.append(Point.make(name, method, sigma=sigma, l=exponent))
        points += [Point.make(name, method, sigma=sigma, l=0) for method in (EXACT, LINEAR)]
    return points


def _predict_seconds(point):
    """A share of what the thesis took; the Newton path has no published time and is fast."""
    if point.method == NEWTON or point.dataset == QUICK[0]:
        return None
    table = published("sparse-t2")
    row = ROWS.get((point.dataset, point["l"])) or dict(protocol_rows("sparse")[1])[point.dataset]
    column = f"{COLUMNS[point.method]} time"
    found = table[table["row"].str.startswith(row.split(" (")[0]) & (table["column"] == column)]
    return FASTER * float(found["value"].max())


def _measure(point, seed):
    data = load_dataset(point.dataset, paper="sparse")
    sigma = point["sigma"]
    if point.method == EXACT:
        return fitted_row(LibSVM(C=1.0, gamma=gamma_from_sigma(sigma), cache_size=1000), data)
    if point.method == LINEAR:
        return fitted_row(LinearSVM(C=1.0), data)
    path = "cholesky" if point.method == CHOLESKY else "newton"
    machine = SparseCholeskySVC(sigma=sigma, l=point["l"], solver=path, random_state=seed)
    warm_up(machine, data)
    row = fitted_row(machine, data)
    matrix = machine.approximation_.matrix_
    n = matrix.shape[0]
    equal = int(np.count_nonzero(matrix.data == 1.0))
    return row | {
        "sparsity": machine.sparsity_,
        "factor_sparsity": machine.factor_sparsity_ if path == "cholesky" else None,
        "near_pairs": (matrix.nnz - n) // 2,
        "equal_pairs": equal // 2,
        "smallest_eigenvalue": machine.approximation_.smallest_eigenvalue_,
    }


def _key_figures(table):
    figures = {}
    for (name, method, exponent), rows in table.groupby(["dataset", "method", "l"], sort=False):
        row = rows.iloc[0]
        text = f"{row['test_accuracy']:.1%}"
        if exponent:
            text += f", sparsity {row['sparsity']:.4f}"
        label = f"{name}, {method}" + (f", l = {exponent:g}" if exponent else "")
        figures[label] = text
    return figures


def _measured(table):
    """The published rows: the listing's exponent, and l = 3 where it was run."""
    cells = []
    for name, row in protocol_rows("sparse")[1]:
        runs = table[table["dataset"] == name]
        for exponent in _exponents(FEATURES[name]):
            label = ROWS.get((name, exponent))
            if label is None and exponent != _exponents(FEATURES[name])[0]:
                continue
            cells += _cells(runs, label or row, exponent)
    cells += _said_in_the_text({(row, column): value for row, column, value in cells})
    return pd.DataFrame(cells, columns=["row", "column", "value"]).dropna()


def _said_in_the_text(found):
    """What Section 6 says about the table, from the cells measured; and the settings in use."""
    cells = []
    for row in dict.fromkeys(row for row, _ in found):
        exact, sparse = (found.get((row, f"{c} time")) for c in ("RBF", "sparse RBF"))
        if exact is None or sparse is None:
            continue
        loss = found[row, "RBF accuracy"] - found[row, "sparse RBF accuracy"]
        said = {
            "RBF time, rounded": exact,
            "sparse RBF time, repeated": sparse,
            "speed-up over RBF": exact / sparse,
            "accuracy loss against RBF": 100 * loss,
            "time reduction, repeated": 100 * (1.0 - sparse / exact),
        }
        cells += [(row, column, said[column]) for column in SAID.get(row, ())]
    reductions = [found.get((row, "time reduction")) for row in FIRST_ROWS]
    if None not in reductions:
        ends = {"from": min(reductions), "to": max(reductions)}
        cells += [("first three rows", f"time reduction {e}", 100 * r) for e, r in ends.items()]
    if found:
        machine = SparseCholeskySVC()
        cells += [("setting", "C", machine.C), ("setting", "added to the diagonal", machine.shift)]
    return cells


def _cells(runs, label, exponent):
    cells, seconds = [], {}
    for method, column in COLUMNS.items():
        rows = runs[(runs["method"] == method) & runs["l"].isin([exponent, 0])]
        if rows.empty:
            continue
        row = rows.iloc[0]
        seconds[method] = row["fit_seconds"]
        cells += [
            (label, f"{column} accuracy", row["test_accuracy"]),
            (label, f"{column} time", row["fit_seconds"]),
        ]
        if method == CHOLESKY:
            cells += [(label, "sparsity", row["sparsity"]), (label, "sigma", row["sigma"])]
    if {CHOLESKY, EXACT} <= set(seconds):
        cells.append((label, "time reduction", 1.0 - seconds[CHOLESKY] / seconds[EXACT]))
    return cells


STUDIES = (
    Study(
        id="sparse-t2",
        paper="sparse",
        title="Table 2: sparse, Gaussian and linear kernel",
        question="Is the sparse kernel as accurate as the Gaussian one, and how much faster?",
        grid=_grid,
        measure=_measure,
        timing=True,
        predict_seconds=_predict_seconds,
        key_figures=_key_figures,
        measured=_measured,
        tolerances={
            **{
                f"{c} accuracy": Tolerance(absolute=0.01, better="higher") for c in COLUMNS.values()
            },
            **{f"{c} time": Tolerance(relative=0.5, better="lower") for c in COLUMNS.values()},
            "RBF time, rounded": Tolerance(relative=0.5, better="lower"),
            "sparse RBF time, repeated": Tolerance(relative=0.5, better="lower"),
            "speed-up over RBF": Tolerance(relative=0.3, better="higher"),
            "accuracy loss against RBF": Tolerance(absolute=1.0, better="lower"),
            "sparsity": Tolerance(absolute=0.0005),
            "time reduction": Tolerance(absolute=0.05, better="higher"),
            **{
                f"time reduction{which}": Tolerance(absolute=5.0, better="higher")
                for which in (", repeated", " from", " to")
            },
        },
    ),
)
