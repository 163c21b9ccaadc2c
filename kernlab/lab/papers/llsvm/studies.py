"""Studies of the LLSVM paper (Zhang, Lan, Wang and Moerchen 2012)."""

from functools import partial

from sklearn.svm import SVC

from kernlab.lab.engine.base import Study
from kernlab.lab.papers.common import equivalence, landmark_theory
from kernlab.lab.papers.common.data_tables import data_table
from kernlab.lab.papers.llsvm import comparisons as llsvm_comparisons
from kernlab.lab.papers.llsvm import tables as llsvm_tables


def _linear_libsvm(F, y, C):
    """The same solver on the same problem, but in the features: nothing else may differ."""
    machine = SVC(kernel="linear", C=C, tol=1e-10).fit(F, y)
    dual = abs(machine.dual_coef_.ravel())
    full = 0.0 * y
    full[machine.support_] = dual
    return machine.coef_.ravel(), machine.intercept_[0], full


def _prop1(point, seed):
    return equivalence.compare_machines(point, seed, loss="hinge", fit_linear=_linear_libsvm)


STUDIES = (
    *llsvm_tables.STUDIES,
    *llsvm_comparisons.STUDIES,
    Study(
        id="llsvm-prop1",
        paper="llsvm",
        title="Proposition 1: a kernel machine is a linear machine on any factor",
        question="Does a linear SVM on F decide as the kernel SVM does, for any F with F F^T = K?",
        grid=partial(equivalence.grid, "linear SVM on a factor"),
        measure=_prop1,
        key_figures=equivalence.key_figures,
    ),
    Study(
        id="llsvm-thm1",
        paper="llsvm",
        title="Theorem 1: a bound on the weights, and what it is worth",
        question="How far are weights on Nystrom features from those on the best features?",
        grid=partial(landmark_theory.bounds_grid, "hinge"),
        measure=partial(landmark_theory.measure_bound, loss="hinge"),
        key_figures=landmark_theory.bound_key_figures,
    ),
    data_table(
        "llsvm-t2",
        title="Data sets of LLSVM",
        question="Are the data sets at hand those of Table 2?",
        counts=("training rows", "test rows", "features", "classes"),
    ),
)
