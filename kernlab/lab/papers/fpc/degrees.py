"""FPC for many degrees at once on the same rows, as FPC itself does when it chooses one."""

from kernlab.estimators.fpc import FPC
from kernlab.estimators.machine import fit_together


def fit_degrees(X, y, degrees, **settings):
    """For labels -1 and 1: a function of rows that gives their scores, for every degree."""
    machines, shared = {}, {}
    for degree in sorted(degrees, reverse=True):  # the largest leaves its Gram matrix to the others
        machines[degree] = FPC(degree, **settings)
        fit_together([machines[degree]], X, y, shared=shared)
    return {degree: machines[degree].decision_function for degree in degrees}
