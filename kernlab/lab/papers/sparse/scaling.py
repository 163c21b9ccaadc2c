"""What the scaling of the features does to the sparsity: which one the thesis must have used.

The thesis does not say how it scaled its data, but a sigma and a sparsity belong to one scaling.
Sparsity is predicted from a few rows, so that no matrix is ever assembled here.
"""

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.compact import distances_from, entry_bytes, sample_rows
from kernlab.datasets import load_dataset, protocol_rows
from kernlab.lab.engine import ParameterError, Study, catalogued, product
from kernlab.lab.published import published

SCALINGS = ("none", "unit", "symmetric", "standard")
QUICK = ("swiss-roll-2",)
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
def scalings(datasets=None, seed=0):
    """How were the features scaled, and what does the scaling do to the sparsity?"""
    if other := set(datasets or ()) - printed_settings().keys():
        known = ", ".join(printed_settings())
        raise ParameterError(f"The thesis prints no sparsity of {', '.join(other)}, but of {known}")

    def grid(profile):
        return [
            point
            for name, (sigma, sparsity) in printed_settings().items()
            if name in (datasets or (QUICK if profile == "quick" else printed_settings()))
            for point in product(
                name, "predicted", SCALINGS, sigma=sigma, printed_sparsity=sparsity
            )
        ]

    return Study(grid=grid, measure=measure_scaling, key_figures=_key_figures)


def measure_scaling(point, seed):
    """The sparsity that a scaling gives at the printed sigma, and what the near rows are."""
    X = load_dataset(point.dataset, paper="sparse", scaling=point.variant).X_train
    X = X.toarray() if sp.issparse(X) else X
    n, cut_off = X.shape[0], 3.0 * point["sigma"]
    near, equal, nearest = _neighbours(X, cut_off, seed)
    entries = round(n * (1.0 + near.mean()))
    return {
        "n_train": n,
        "n_features": X.shape[1],
        "sampled_rows": len(near),
        "sparsity": 1.0 - entries / n**2,
        "error_of_sparsity": float(near.std(ddof=1) / np.sqrt(len(near)) / n),
        "near_rows": near.mean(),
        "equal_rows": equal.mean(),
        "rows_with_a_near_row": float(np.mean(near > equal)),
        "smallest_distance": float(nearest.min()),
        "cut_off": cut_off,
        "predicted_bytes": float(entries) * entry_bytes(entries),
    }


def _neighbours(X, cut_off, seed):
    """Of sampled rows: other rows within the cut-off, rows equal to it, distance to the nearest
    row that is not equal."""
    sample = sample_rows(X, seed, n_pairs=SAMPLED_PAIRS)
    near, equal, nearest = [], [], []
    for distances in distances_from(X, sample):
        # Distances come from differences of large numbers: what is as small as this is rounding.
        same = distances <= 1e-6 * distances.max()
        equal += (same.sum(axis=1) - 1).tolist()
        near += ((distances < cut_off) | same).sum(axis=1).tolist()
        nearest += np.where(same, np.inf, distances).min(axis=1).tolist()
    return np.array(near) - 1, np.array(equal), np.array(nearest)


def _key_figures(table):
    """For each set the scaling whose sparsity comes nearest to the printed one."""
    figures = {}
    for name, rows in table.groupby("dataset", sort=False):
        off = (rows["sparsity"] - rows["printed_sparsity"]).abs()
        best = rows.loc[off.idxmin()]
        figures[name] = (
            f"printed {best['printed_sparsity']:.4f}; nearest is scaling {best['variant']} with "
            f"{best['sparsity']:.4f}, {best['near_rows']:.3g} near rows a row"
        )
        if best["rows_with_a_near_row"] < 0.01:
            figures[name] += ", all of them its duplicates"
    return figures
