"""Features scaled by what the training rows say, and nothing else."""

import numpy as np
from scipy import sparse

from kernlab.datasets.errors import DataError
from kernlab.runtime import require_memory

SCALINGS = ("none", "unit", "symmetric", "standard")


def scale(kind, X_train, *others):
    """Scale training rows, and with the same numbers the other parts.

    Parameters
    ----------
    kind : str or None
        "unit" maps each feature's range in the training rows to [0, 1], "symmetric" to [-1, 1],
        "standard" gives mean 0 and variance 1; None or "none" leaves all as it is. Other rows may
        fall outside the range. A constant feature becomes 0 ("symmetric": -1).
    X_train, *others : array, CSR matrix or None
        Sparse rows stay sparse where scaling keeps zeros zero, else they become dense.

    Returns
    -------
    list
        The scaled parts, in the given order; None stays None.
    """
    if kind in (None, "none"):
        return [X_train, *others]
    if kind not in SCALINGS:
        raise DataError(f"there is no scaling {kind!r}; choose from {', '.join(SCALINGS)} or None")
    from sklearn import preprocessing

    parts = [X_train, *others]
    if sparse.issparse(X_train):
        if kind == "unit" and _least_is_zero(X_train):
            # x / max is then the map to [0, 1], and zeros stay zeros.
            scaler = preprocessing.MaxAbsScaler()
            return _apply(scaler, parts)
        parts = [_dense(part) for part in parts]
    scaler = {
        "unit": preprocessing.MinMaxScaler((0, 1)),
        "symmetric": preprocessing.MinMaxScaler((-1, 1)),
        "standard": preprocessing.StandardScaler(),
    }[kind]
    return _apply(scaler, parts)


def _apply(scaler, parts):
    scaler.fit(parts[0])
    return [None if part is None else scaler.transform(part) for part in parts]


def _least_is_zero(X):
    return not np.any(X.min(axis=0).toarray())


def _dense(X):
    if X is None:
        return None
    require_memory(
        X.shape[0] * X.shape[1] * 8,
        None,
        what="scaling sparse rows so that zeros move",
        arithmetic=f"{X.shape[0]} rows x {X.shape[1]} features x 8 bytes",
        way_out='Use scaling="none", or "unit" where no feature is negative.',
    )
    return X.toarray()
