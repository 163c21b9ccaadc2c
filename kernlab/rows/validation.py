"""Rows as they come from users, checked, and of sparse rows every entry in one piece."""

import scipy.sparse as sp
from sklearn.utils.validation import validate_data as checked


def validate_data(estimator, *data, **options):
    """scikit-learn's check of the same name, with the parts of repeated sparse entries added up.

    A sparse matrix may hold an entry in several parts, which products add up by themselves; lengths
    of rows and searches for near rows, which look at each part alone, would be wrong.
    """
    found = checked(estimator, *data, **options)
    if isinstance(found, tuple):
        return (_in_one_piece(found[0]), *found[1:])
    return _in_one_piece(found)


def _in_one_piece(X):
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X
