"""A fitted HSS approximation in a file: plain arrays and a JSON header in NumPy's .npz format.

Nothing in it is pickled, so a file from elsewhere cannot run code when it is read. Only ranks and
sizes are needed to cut the arrays, which are stored end to end, into blocks again.
"""

import json
from dataclasses import asdict, fields, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.hss.matrix import Basis, HSSMatrix
from kernlab.approximations.hss.tree import ClusterTree
from kernlab.kernels import KERNELS
from kernlab.rows import as_rows

FORMAT, VERSION = "kernlab-hss", 1


def write(path, approximation):
    """Write a fitted `HSSKernel` to `path`."""
    kernel, matrix, X = approximation.kernel_, approximation.matrix_, approximation.X_
    names = {kind: name for name, kind in KERNELS.items()}
    if type(kernel) not in names:
        known = ", ".join(kind.__name__ for kind in names)
        raise ValueError(
            f"a kernel of type {type(kernel).__name__} cannot be stored: a file names its kernel, "
            f"which must be of a type that it knows ({known})"
        )
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
    bases = matrix.bases[1:]
    arrays = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        **{field.name: getattr(matrix.tree, field.name) for field in fields(ClusterTree)},
        "ranks": np.array([basis.rank for basis in bases], dtype=np.int64),
        "columns": np.array([basis.columns for basis in bases], dtype=np.int64),
        "rows_in_order": _end_to_end(
            [np.concatenate([basis.skeleton, basis.rest]) for basis in bases], np.int64
        ),
        "interpolations": _end_to_end([basis.E for basis in bases], matrix.dtype),
        "blocks": _end_to_end(matrix.blocks, matrix.dtype),
        "couplings": _end_to_end(matrix.couplings, matrix.dtype),
    }
    if sp.issparse(X):
        arrays |= {"X_data": X.data, "X_indices": X.indices, "X_indptr": X.indptr}
    else:
        arrays["X"] = X
    with Path(path).open("wb") as file:
        np.savez(file, **arrays)


def read(path, kind):
    """The approximation that `write` has stored, as an object of class `kind`."""
    with Path(path).open("rb") as file:
        try:
            with np.load(file, allow_pickle=False) as stored:
                header = json.loads(bytes(stored["header"]))
                readable = header["format"] == FORMAT and header["version"] <= VERSION
                return _approximation(stored, header, kind) if readable else _refuse(path, header)
        except _OtherFileError:
            raise
        except Exception as error:  # a damaged file may fail in any way that NumPy's readers have
            raise ValueError(
                f"{path} is not a whole file of an HSS approximation: {error}"
            ) from None


class _OtherFileError(ValueError):
    """A whole file, but not one that can be read."""


def _refuse(path, header):
    if header["format"] != FORMAT:
        raise _OtherFileError(f"{path} does not hold an HSS approximation")
    raise _OtherFileError(
        f"{path} was written by a newer kernlab (format {header['version']}, known here: "
        f"{VERSION}): update kernlab, or fit again"
    )


def _approximation(stored, header, kind):
    approximation = kind(**header["parameters"])
    approximation.kernel_ = KERNELS[header["kernel"]](**header["kernel parameters"])
    if not isinstance(approximation.kernel, str):
        approximation.kernel = approximation.kernel_
    approximation.matrix_ = _matrix(stored)
    if header["sparse"]:
        parts = (stored["X_data"], stored["X_indices"], stored["X_indptr"])
        approximation.X_ = sp.csr_matrix(parts, shape=tuple(header["rows"]))
    else:
        approximation.X_ = stored["X"]
    approximation._rows, approximation._factor = as_rows(approximation.X_), None
    approximation.neighbour_recall_ = header["recall"]
    approximation.timings_ = header["timings"]
    approximation.n_features_in_ = approximation.X_.shape[1]
    return approximation


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


def _end_to_end(arrays, dtype):
    flat = [array.ravel() for array in arrays if array is not None]
    return np.concatenate([np.zeros(0, dtype), *flat])


def _matrix(stored):
    tree = ClusterTree(**{field.name: stored[field.name] for field in fields(ClusterTree)})
    ranks, columns = np.append(0, stored["ranks"]), np.append(0, stored["columns"])
    names = ("rows_in_order", "interpolations", "blocks", "couplings")
    take = {name: _taker(stored[name]) for name in names}
    blocks, couplings, bases = ([None] * tree.n_nodes for _ in range(3))
    for t in range(tree.n_nodes):
        if tree.is_leaf(t):
            rows = int(tree.sizes[t])
            blocks[t] = take["blocks"](rows, rows)
        else:
            rows = int(ranks[tree.children[t]].sum())
            couplings[t] = take["couplings"](*ranks[tree.children[t]])
        if t > 0:
            order = take["rows_in_order"](rows)
            E = take["interpolations"](rows - ranks[t], ranks[t])
            bases[t] = Basis(order[: ranks[t]], order[ranks[t] :], E, None, int(columns[t]))
    # The positions of skeletons are found from the leaves upwards.
    for t in range(tree.n_nodes - 1, 0, -1):
        if tree.is_leaf(t):
            points = np.arange(tree.start[t], tree.stop[t])
        else:
            points = np.concatenate([bases[child].points for child in tree.children[t]])
        bases[t] = replace(bases[t], points=points[bases[t].skeleton])
    return HSSMatrix(tree, blocks, couplings, bases)


def _taker(flat):
    """A function that takes blocks of given shapes from the front of a flat array."""
    taken = 0

    def take(*shape):
        nonlocal taken
        start, taken = taken, taken + int(np.prod(shape))
        if taken > len(flat):
            raise EOFError("it ends too early")
        return flat[start:taken].reshape(shape)

    return take
