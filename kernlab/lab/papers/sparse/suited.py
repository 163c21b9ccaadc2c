"""Which data a sparse kernel suits: accuracy against the share of the kernel matrix that is kept.

With few features near rows say all there is to say. With many, rows are about equally far from each
other: a matrix keeps hardly any pair or nearly all, and what it keeps is close to zero. How many it
would keep is known before a run, from a few rows.
"""

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.model_selection import train_test_split

from kernlab.approximations.compact import entry_bytes, predict_entries, radius_by_quantile
from kernlab.datasets import load_dataset
from kernlab.estimators import SparseCholeskySVC
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.baselines import LibSVM
from kernlab.lab.engine import Share, Study, catalogued, product, several
from kernlab.lab.papers.common.fitting import accuracy

SPARSE, EXACT = "sparse Newton", "LIBSVM"
DENSITIES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
RULES = ("askey-odd", "3")
ROWS, TEST_ROWS = 2000, 4000
# Each with the scaling of the thesis, or else features of equal weight.
SETS = {
    "quick": {"swiss-roll": "symmetric", "pendigits": "unit", "spambase": "standard"},
    "standard": {
        "swiss-roll": "symmetric",
        "skin_nonskin": "none",
        "svmguide1": "none",
        "cod-rna": "standard",
        "pendigits": "unit",
        "covtype-2": "unit",
        "spambase": "standard",
        "a6a": "none",
        "usps": "none",
        "madelon": "standard",
    },
}
SUITED = 0.01  # of accuracy lost at most


@catalogued("sparse-suited", "Where a sparse kernel suits, and where not")
def suited_data(datasets=None, densities: several(Share) = None, C=1.0, seed=0):
    """How much of the kernel matrix must be kept to be as accurate as with all of it?

    Parameters
    ----------
    datasets : sequence of str, optional
        Standardised, where the catalogue does not list them with the thesis' scaling.
    densities : sequence of float, optional
        Shares of the kernel matrix.
    C : float
    seed : int
    """

    def grid(profile):
        known = SETS["standard"] | SETS["quick"]
        points = []
        for name in datasets or SETS.get(profile, SETS["standard"]):
            scaling = known.get(name, "standard")
            kept = densities or (DENSITIES[::2] if profile == "quick" else DENSITIES)
            points += product(name, SPARSE, RULES, density=kept, scaling=scaling, C=C)
            points += product(name, EXACT, density=1.0, scaling=scaling, C=C)
        return points

    return Study(grid=grid, measure=measure_density, key_figures=_key_figures)


def _some_rows(point):
    """A stratified sample of the training rows, as many as a look takes, and test rows."""
    data = load_dataset(point.dataset, paper="sparse", scaling=point["scaling"])
    X, y = _part(data.X_train, data.y_train, ROWS)
    return X, y, *_part(data.X_test, data.y_test, TEST_ROWS), data.X_train.shape[0]


def _part(X, y, size):
    X = X.toarray() if sp.issparse(X) else X
    if len(y) <= size:
        return X, y
    rows, _ = train_test_split(np.arange(len(y)), train_size=size, stratify=y, random_state=0)
    return X[np.sort(rows)], y[np.sort(rows)]


def measure_density(point, seed):
    X, y, X_test, y_test, n_full = _some_rows(point)
    shared = {"n_train": len(y), "n_features": X.shape[1], "n_full": n_full}
    if point.method == EXACT:
        sigma = _best_sigma(X, y)
        machine = LibSVM(C=point["C"], gamma=gamma_from_sigma(sigma)).fit(X, y)
        return shared | {
            "sigma": sigma,
            "test_accuracy": accuracy(machine.predict(X_test), y_test),
            "predicted_bytes": 8.0 * n_full**2,
        }
    # A little beyond the quantile: where distances come in steps, all of a step are in or out.
    radius = 1.000001 * radius_by_quantile(X, 1.0 - point["density"], 0)
    predicted = predict_entries(X, radius, 1).entries / len(y) ** 2
    exponent = point.variant if point.variant == "askey-odd" else int(point.variant)
    machine = SparseCholeskySVC(point["C"], sigma=radius / 3.0, l=exponent, solver="newton").fit(
        X, y
    )
    off_diagonal = machine.approximation_.matrix_
    off_diagonal.setdiag(0.0)
    return shared | {
        "sigma": radius / 3.0,
        "l": machine.approximation_.kernel_.l,
        "predicted_density": predicted,
        "measured_density": 1.0 - machine.sparsity_,
        "predicted_bytes": predicted * n_full**2 * entry_bytes(int(predicted * n_full**2)),
        "mean_near_value": float(off_diagonal.sum() / max(1, off_diagonal.nnz - len(y))),
        "test_accuracy": accuracy(machine.predict(X_test), y_test),
        "kkt_residual": machine.result_.kkt_residual,
        "gap": machine.result_.relative_gap,
        "smallest_eigenvalue": machine.approximation_.smallest_eigenvalue_,
    }


def _best_sigma(X, y):
    """The Gaussian's sigma by accuracy on held-out training rows."""
    widths = radius_by_quantile(X, 0.5, 0) * 2.0 ** np.arange(-4.0, 2.0)
    kept, held = train_test_split(np.arange(len(y)), test_size=0.3, stratify=y, random_state=0)
    scores = [
        LibSVM(C=1.0, gamma=gamma_from_sigma(sigma)).fit(X[kept], y[kept]).score(X[held], y[held])
        for sigma in widths
    ]
    return float(widths[int(np.argmax(scores))])


def losses(table):
    """The sparse rows with `loss`: how much less accurate than the Gaussian kernel."""
    exact = table[table["method"] == EXACT].set_index("dataset")["test_accuracy"]
    rows = table[table["method"] == SPARSE]
    rows = rows[rows["dataset"].isin(exact.index)]
    return rows.assign(loss=exact.loc[rows["dataset"]].to_numpy() - rows["test_accuracy"])


def needed(table):
    """For each set and rule the smallest density that loses at most `SUITED`, NaN where none."""
    rows = losses(table)
    found = []
    for (name, rule), part in rows.groupby(["dataset", "variant"], sort=False):
        enough = part[part["loss"] <= SUITED].sort_values("density")
        best = part.loc[part["loss"].idxmin()]
        first = enough.iloc[0] if len(enough) else None
        found.append(
            {
                "dataset": name,
                "variant": rule,
                "n_features": int(best["n_features"]),
                "n_full": int(best["n_full"]),
                "density": np.nan if first is None else first["density"],
                "predicted_bytes": np.nan if first is None else first["predicted_bytes"],
                "smallest_loss": best["loss"],
            }
        )
    return pd.DataFrame(found)


def _key_figures(table):
    figures = {}
    for row in needed(table).itertuples():
        label = f"{row.dataset}, {row.n_features} features, l = {row.variant}"
        if np.isnan(row.density):
            figures[label] = f"never within {SUITED:.0%}: at best {100 * row.smallest_loss:.0f} "
            figures[label] += "points below the Gaussian kernel"
        else:
            figures[label] = (
                f"within {SUITED:.0%} at density {row.density:g}: "
                f"{row.density * row.n_full:,.0f} near rows a row of all {row.n_full:,}"
            )
    return figures
