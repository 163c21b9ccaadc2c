"""FPC for many degrees at once on the same rows, as FPC itself does when it chooses one."""

from functools import partial

import numpy as np

from kernlab.estimators.fpc_degree import PolynomialFits, TrainingRows
from kernlab.rows import as_rows

MAP = {
    "n_centres": None,
    "centres": "first",
    "basis": "power",
    "scaling": "unit",
    "random_state": None,
    "max_memory": None,
}


def fit_degrees(X, y, degrees, **settings):
    """For labels -1 and 1: a function of rows that gives their scores, for every degree."""
    source = as_rows(X)
    rows = TrainingRows(source, (y > 0).astype(np.int16), None, source.bounds())
    machines = PolynomialFits(2, MAP | settings, {}).run(rows, list(degrees))
    return {
        s: partial(made.decision, coefficients=machines.results[s][0].coefficients)
        for s, made in machines.maps.items()
    }
