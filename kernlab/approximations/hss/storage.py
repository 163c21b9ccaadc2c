"""A fitted HSS approximation in a file: plain arrays and a JSON header in NumPy's .npz format.

Nothing in it is pickled, so a file from elsewhere cannot run code when it is read. Only ranks and
sizes are needed to cut the arrays, which are stored end to end, into blocks again.
"""

import json
import zipfile
from dataclasses import asdict
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.hss.matrix import Basis, HSSMatrix
from kernlab.approximations.hss.tree import ClusterTree
from kernlab.kernels import KERNELS

FORMAT, VERSION = "kernlab-hss", 1


def write(path, approximation):
    """Write a fitted `HSSKernel` to `path`."""
    kernel = approximation.kernel_
    names = {kind: name for name, kind in KERNELS.items()}
    if type(kernel) not in names:
        known = ", ".join(kind.__name__ for kind in names)
        raise ValueError(
            f"a kernel of type {type(kernel).__name__} cannot be stored: a file names its kernel, "
            f"which must be of a type that it knows ({known})"
        )
    matrix, X = approximation.matrix_, approximation.X_
    header = {
        "format": FORMAT,
        "version": VERSION,
        "kernel": names[type(kernel)],
        "kernel parameters": _plain(asdict(kernel)),
        "parameters": _plain(approximation.get_params(deep=False)),
        "recall": approximation.neighbour_recall_,
        "timings": approximation.timings_,
        "sparse": bool(sp.issparse(X)),
        "rows": list(X.shape),
    }
    arrays = {"header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)}
    if sp.issparse(X):
        arrays |= {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr}
    else:
        arrays["X"] = X
    with Path(path).open("wb") as file:
        np.savez(file, **arrays, **_matrix_arrays(matrix))


def read(path, kind):
    """The approximation that `write` has stored, as an object of class `kind`."""
    path = Path(path)
    try:
        with np.load(path, allow_pickle=False) as stored:
            header = json.loads(bytes(stored["header"]))
            _check_header(path, header)
            approximation = kind(**header["parameters"])
            approximation.kernel_ = KERNELS[header["kernel"]](**header["kernel parameters"])
            approximation.matrix_ = _matrix(stored)
            approximation.X_ = _rows(stored, header)
    except (KeyError, zipfile.BadZipFile, EOFError, json.JSONDecodeError) as error:
        raise ValueError(f"{path} is not a whole file of an HSS approximation: {error}") from None
    if not isinstance(approximation.get_params()["kernel"], str):
        approximation.kernel = approximation.kernel_
    approximation.neighbour_recall_ = header["recall"]
    approximation.timings_ = header["timings"]
    approximation.n_features_in_ = approximation.X_.shape[1]
    approximation._factor = None
    return approximation


def _check_header(path, header):
    if header.get("format") != FORMAT:
        raise ValueError(f"{path} does not hold an HSS approximation")
    if header["version"] > VERSION:
        raise ValueError(
            f"{path} was written by a newer kernlab (format {header['version']}, known here: "
            f"{VERSION}): update kernlab, or fit again"
        )


def _plain(parameters):
    """Parameters as JSON can hold them; a generator of random numbers is left out."""
    plain = {}
    for name, value in parameters.items():
        if isinstance(value, np.generic | np.ndarray) and value.ndim == 0:
            value = value.item()
        if name == "dtype" and value is not None:
            value = np.dtype(value).name
        plain[name] = value if isinstance(value, int | float | str | None) else None
    return plain


def _rows(stored, header):
    if not header["sparse"]:
        return stored["X"]
    parts = (stored["X_data"], stored["X_indices"], stored["X_indptr"])
    return sp.csr_matrix(parts, shape=tuple(header["rows"]))


# -------------------------------------------------------------------------------- matrix
def _matrix_arrays(matrix):
    tree = matrix.tree
    bases = matrix.bases[1:]
    return {
        "order": tree.order,
        "start": tree.start,
        "stop": tree.stop,
        "children": tree.children,
        "parent": tree.parent,
        "depth": tree.depth,
        "ranks": np.array([basis.rank for basis in bases], dtype=np.int64),
        "columns": np.array([basis.columns for basis in bases], dtype=np.int64),
        "rows_in_order": _end_to_end(
            [np.concatenate([basis.skeleton, basis.rest]) for basis in bases], np.int64
        ),
        "interpolations": _end_to_end([basis.E for basis in bases], matrix.dtype),
        "blocks": _end_to_end(matrix.blocks, matrix.dtype),
        "couplings": _end_to_end(matrix.couplings, matrix.dtype),
    }


def _end_to_end(arrays, dtype):
    flat = [array.ravel() for array in arrays if array is not None]
    return np.concatenate([np.zeros(0, dtype), *flat])


def _matrix(stored):
    names = ("order", "start", "stop", "children", "parent", "depth")
    tree = ClusterTree(**{name: stored[name] for name in names})
    ranks, columns = np.append(0, stored["ranks"]), np.append(0, stored["columns"])
    take = {
        name: _Taker(stored[name])
        for name in ("rows_in_order", "interpolations", "blocks", "couplings")
    }
    rows = [
        int(tree.sizes[t]) if tree.is_leaf(t) else int(ranks[tree.children[t]].sum())
        for t in range(tree.n_nodes)
    ]
    blocks, couplings, bases = ([None] * tree.n_nodes for _ in range(3))
    for t in range(tree.n_nodes):
        if tree.is_leaf(t):
            blocks[t] = take["blocks"](rows[t], rows[t])
        else:
            couplings[t] = take["couplings"](*ranks[tree.children[t]])
        if t > 0:
            order = take["rows_in_order"](rows[t])
            E = take["interpolations"](rows[t] - ranks[t], ranks[t])
            bases[t] = Basis(order[: ranks[t]], order[ranks[t] :], E, None, int(columns[t]))
    return HSSMatrix(tree, blocks, couplings, _with_points(tree, bases))


class _Taker:
    """Takes blocks of given shapes from the front of a flat array."""

    def __init__(self, flat):
        self.flat, self.at = flat, 0

    def __call__(self, *shape):
        size = int(np.prod(shape))
        if self.at + size > len(self.flat):
            raise EOFError("it ends too early")
        self.at += size
        return self.flat[self.at - size : self.at].reshape(shape)


def _with_points(tree, bases):
    """The bases with the positions of their skeletons, found from the leaves upwards."""
    for t in range(tree.n_nodes - 1, 0, -1):
        if tree.is_leaf(t):
            points = np.arange(tree.start[t], tree.stop[t])
        else:
            points = np.concatenate([bases[child].points for child in tree.children[t]])
        basis = bases[t]
        bases[t] = Basis(basis.skeleton, basis.rest, basis.E, points[basis.skeleton], basis.columns)
    return bases
