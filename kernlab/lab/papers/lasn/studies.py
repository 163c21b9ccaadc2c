"""Studies of the LASN paper (Jiang and Li 2020)."""

from functools import partial

from kernlab.lab.engine.base import Study, Tolerance
from kernlab.lab.papers.common import equivalence, landmark_theory
from kernlab.lab.papers.common.data_tables import data_table
from kernlab.lab.papers.lasn import sweeps as lasn_sweeps
from kernlab.lab.papers.lasn import tables as lasn_tables
from kernlab.solvers.newton.features import solve_newton


def _newton(F, y, C):
    result = solve_newton(F, y, C=C, intercept="free", tol=1e-10)
    slack = (1.0 - y * (F @ result.coefficients + result.intercept)).clip(min=0.0)
    return result.coefficients, result.intercept, 2.0 * C * slack


def _thm1(point, seed):
    return equivalence.compare_machines(point, seed, loss="squared_hinge", fit_linear=_newton)


STUDIES = (
    *lasn_sweeps.STUDIES,
    *lasn_tables.STUDIES,
    Study(
        id="lasn-thm1",
        paper="lasn",
        title="Theorem 1: the same with the squared hinge",
        question="Does a linear SVM with squared hinge on a factor of K decide as the kernel SVM?",
        grid=partial(equivalence.grid, "Newton on a factor"),
        measure=_thm1,
        key_figures=equivalence.key_figures,
    ),
    Study(
        id="lasn-thm2",
        paper="lasn",
        title="Theorem 2: the same bound with the squared hinge",
        question="How far are weights on Nystrom features from those on the best features?",
        grid=partial(landmark_theory.bounds_grid, "squared hinge"),
        measure=partial(landmark_theory.measure_bound, loss="squared_hinge"),
        key_figures=landmark_theory.bound_key_figures,
    ),
    Study(
        id="lasn-thm3",
        paper="lasn",
        title="Theorem 3: quadratic convergence",
        question="How fast does the gradient of the semismooth Newton method fall?",
        grid=landmark_theory.convergence_grid,
        measure=landmark_theory.measure_convergence,
        key_figures=landmark_theory.convergence_key_figures,
    ),
    data_table(
        "lasn-t1",
        title="Data sets of LASN's sweeps, and their bandwidths",
        question="Are sizes and gammas those of Table 1, and what is its gamma?",
        counts=("training rows", "features"),
        columns={"gamma": "total variance"},
        # The rows set aside are drawn at random, and single rows weigh much in cod-rna.
        tolerances={"gamma": Tolerance(relative=0.02)},
    ),
    data_table(
        "lasn-t2",
        title="Data sets of LASN's comparisons",
        question="Are the data sets at hand those of Table 2?",
        counts=("training rows", "features"),
    ),
)
