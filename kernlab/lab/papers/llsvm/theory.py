"""LLSVM's Proposition 1, its bound on the weights, and its data sets counted."""

from functools import partial

import numpy as np
from sklearn.svm import SVC

from kernlab.lab.engine import Cell, catalogued
from kernlab.lab.papers.common import equivalence, landmark_theory
from kernlab.lab.papers.common.data_tables import counted


def _libsvm(F, y, C):
    """The same solver on the same problem, but in the features: nothing else may differ."""
    machine = SVC(kernel="linear", C=C, tol=1e-10).fit(F, y)
    dual = np.zeros(len(y))
    dual[machine.support_] = np.abs(machine.dual_coef_.ravel())
    return machine.coef_.ravel(), machine.intercept_[0], dual


@catalogued("llsvm-prop1", "Proposition 1: a kernel machine is a linear machine on any factor")
def factors(datasets=None, C=1.0, seed=0):
    """Does a linear SVM on F decide as the kernel SVM does, for any F with F F^T = K?"""
    measure = partial(equivalence.compare_machines, loss="hinge", fit_linear=_libsvm)
    return equivalence.study_of("linear SVM on a factor", measure, datasets, C)


@catalogued("llsvm-thm1", "Theorem 1: a bound on the weights, and what it is worth")
def weight_bound(datasets=None, ranks=None, C=1.0, seed=0):
    """How far are weights on Nystrom features from those on the best features?"""
    return landmark_theory.bound_study("hinge", "hinge", datasets, ranks, C)


@catalogued("llsvm-t2", "Data sets of LLSVM")
def data_sets(datasets=None):
    """Are the data sets that are there those of Table 2?"""
    printed = ("training rows", "test rows", "features", "classes")
    return counted("llsvm-t2", datasets, [Cell(name, name.replace(" ", "_")) for name in printed])
