"""Which data, and which scaling, a sparse kernel suits; the thesis' data sets counted."""

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from kernlab.approximations import compact
from kernlab.datasets import load_dataset, protocol_rows
from kernlab.estimators import SparseCholeskySVC
from kernlab.kernels import gamma_from_sigma
from kernlab.lab.baselines import LibSVM
from kernlab.lab.engine import Choice, ParameterError, Share, catalogued, product, several
from kernlab.lab.papers.common.data_tables import data_table
from kernlab.lab.papers.common.fitting import accuracy, dense, shape_of, solved
from kernlab.lab.published import published

SPARSE, EXACT = "sparse Newton", "LIBSVM"
DENSITIES = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
RULES = ("askey-odd", "3")
ROWS, TEST_ROWS = 2000, 4000
# Each with the scaling of the thesis, or else features of equal weight.
SETS = {
    "swiss-roll": "symmetric", "skin_nonskin": "none", "svmguide1": "none", "cod-rna": "standard",
    "pendigits": "unit", "covtype-2": "unit", "spambase": "standard", "a6a": "none",
    "usps": "none", "madelon": "standard",
}  # fmt: skip
SUITED_SETS = Choice(("swiss-roll", "pendigits", "spambase"), tuple(SETS))
KEPT = Choice(DENSITIES[::2], DENSITIES)
SUITED = 0.01  # of accuracy lost at most


@catalogued("sparse-suited", "Where a sparse kernel suits, and where not")
def suited_data(datasets=SUITED_SETS, densities: several(Share) = KEPT, C=1.0, seed=0):
    """How much of the kernel matrix must be kept to be as accurate as with all of it?

    Sets that the catalogue does not list with the thesis' scaling are standardised; `densities` are
    shares of the kernel matrix.
    """
    points = []
    for name in datasets:
        scaling = SETS.get(name, "standard")
        points += product(name, SPARSE, RULES, density=densities, scaling=scaling, C=C)
        points += product(name, EXACT, density=1.0, scaling=scaling, C=C)
    return points


def _part(X, y, size):
    X = dense(X)
    if len(y) <= size:
        return X, y
    rows, _ = train_test_split(np.arange(len(y)), train_size=size, stratify=y, random_state=0)
    return X[np.sort(rows)], y[np.sort(rows)]


@suited_data.measure
def measure_density(point, seed):
    """On a stratified sample of the rows, as many as a look takes."""
    data = load_dataset(point.dataset, paper="sparse", scaling=point["scaling"])
    (X, y), n_full = _part(data.X_train, data.y_train, ROWS), data.X_train.shape[0]
    X_test, y_test = _part(data.X_test, data.y_test, TEST_ROWS)
    shared = shape_of(X) | {"n_full": n_full}
    if point.method == EXACT:
        sigma = _best_sigma(X, y)
        machine = LibSVM(C=point["C"], gamma=gamma_from_sigma(sigma)).fit(X, y)
        return shared | {
            "sigma": sigma,
            "test_accuracy": accuracy(machine.predict(X_test), y_test),
            "predicted_bytes": 8.0 * n_full**2,
        }
    # A little beyond the quantile: where distances come in steps, all of a step are in or out.
    radius = 1.000001 * compact.radius_by_quantile(X, 1.0 - point["density"], 0)
    predicted = compact.predict_entries(X, radius, 1).entries / len(y) ** 2
    exponent = point.variant if point.variant == "askey-odd" else int(point.variant)
    machine = SparseCholeskySVC(point["C"], sigma=radius / 3.0, l=exponent, solver="newton")
    machine.fit(X, y)
    off_diagonal = machine.approximation_.matrix_
    off_diagonal.setdiag(0.0)
    entries = predicted * n_full**2
    return shared | {
        "sigma": radius / 3.0,
        "l": machine.approximation_.kernel_.l,
        "predicted_density": predicted,
        "measured_density": 1.0 - machine.sparsity_,
        "predicted_bytes": entries * compact.entry_bytes(int(entries)),
        "mean_near_value": float(off_diagonal.sum() / max(1, off_diagonal.nnz - len(y))),
        "test_accuracy": accuracy(machine.predict(X_test), y_test),
        "smallest_eigenvalue": machine.approximation_.smallest_eigenvalue_,
        **solved(machine.result_, "kkt_residual", "gap"),
    }


def _best_sigma(X, y):
    widths = compact.radius_by_quantile(X, 0.5, 0) * 2.0 ** np.arange(-4.0, 2.0)
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
        enough = part[part["loss"] <= SUITED]
        best = part.loc[part["loss"].idxmin()]
        found.append({
            "dataset": name,
            "variant": rule,
            "n_features": int(best["n_features"]),
            "n_full": int(best["n_full"]),
            "density": enough["density"].min(),  # NaN of none
            "smallest_loss": best["loss"],
        })  # fmt: skip
    return pd.DataFrame(found)


@suited_data.key_figures
def _where_it_suits(table):
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


SCALINGS = ("none", "unit", "symmetric", "standard")
QUICK_SCALED = ("swiss-roll-2",)
SAMPLED_PAIRS = 2**24


def printed_settings():
    """The printed sigma and sparsity of every set of Table 2, by the registry's names."""
    table = published("sparse-t2")
    cells = {(c.row.split(" (")[0], c.column): c.value for c in table.itertuples()}
    return {
        name: (cells[row, "sigma"], cells[row, "sparsity"])
        for name, row in protocol_rows("sparse")[1]
    }


@catalogued("sparse-scaling", "The scaling that gives the printed sparsity")
def scalings(profile, datasets=None, seed=0):
    """How were the features scaled, and what does the scaling do to the sparsity?

    The thesis does not say, but a sigma and a sparsity belong to one scaling. Sparsity is predicted
    from a few rows, so that no matrix is ever assembled.
    """
    settings = printed_settings()
    if other := set(datasets or ()) - settings.keys():
        known = ", ".join(settings)
        raise ParameterError(f"The thesis prints no sparsity of {', '.join(other)}, but of {known}")
    names = datasets or (QUICK_SCALED if profile == "quick" else settings)
    return product(
        [name for name in settings if name in names], "predicted", SCALINGS,
        sigma=lambda name: settings[name][0], printed_sparsity=lambda name: settings[name][1],
    )  # fmt: skip


@scalings.measure
def measure_scaling(point, seed):
    """The sparsity that a scaling gives at the printed sigma, and what the near rows are."""
    X = dense(load_dataset(point.dataset, paper="sparse", scaling=point.variant).X_train)
    n, cut_off = X.shape[0], 3.0 * point["sigma"]
    near, equal, nearest = _neighbours(X, cut_off, seed)
    entries = round(n * (1.0 + near.mean()))
    return shape_of(X) | {
        "sampled_rows": len(near),
        "sparsity": 1.0 - entries / n**2,
        "error_of_sparsity": float(near.std(ddof=1) / np.sqrt(len(near)) / n),
        "near_rows": near.mean(),
        "equal_rows": equal.mean(),
        "rows_with_a_near_row": float(np.mean(near > equal)),
        "smallest_distance": float(nearest.min()),
        "cut_off": cut_off,
        "predicted_bytes": float(entries) * compact.entry_bytes(entries),
    }


def _neighbours(X, cut_off, seed):
    """Of sampled rows: other rows within the cut-off, rows equal to it, distance to the nearest
    row that is not equal."""
    sample = compact.sample_rows(X, seed, n_pairs=SAMPLED_PAIRS)
    near, equal, nearest = [], [], []
    for distances in compact.distances_from(X, sample):
        # Distances come from differences of large numbers: what is as small as this is rounding.
        same = distances <= 1e-6 * distances.max()
        equal += (same.sum(axis=1) - 1).tolist()
        near += ((distances < cut_off) | same).sum(axis=1).tolist()
        nearest += np.where(same, np.inf, distances).min(axis=1).tolist()
    return np.array(near) - 1, np.array(equal), np.array(nearest)


@scalings.key_figures("{dataset}")
def _nearest_to_printed(rows):
    best = rows.loc[(rows["sparsity"] - rows["printed_sparsity"]).abs().idxmin()]
    duplicates = best["rows_with_a_near_row"] < 0.01
    return (
        f"printed {best['printed_sparsity']:.4f}; nearest is scaling {best['variant']} with "
        f"{best['sparsity']:.4f}, {best['near_rows']:.3g} near rows a row"
        + (", all of them its duplicates" if duplicates else "")
    )


data_sets = data_table(
    "sparse-t1", "Data sets of the thesis", "the sparse Cholesky thesis",
    "Are the data sets that are there those of Table 1?",
    "training rows", "test rows", "features", "classes",
)  # fmt: skip
