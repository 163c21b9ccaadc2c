"""Studies of the ADMM-HSS paper (Cipolla and Gondzio 2021)."""

from kernlab.studies import hss_bound, hss_grid, hss_matrix, hss_steps, hss_tables
from kernlab.studies.base import Tolerance
from kernlab.studies.data_tables import data_table

STUDIES = (
    data_table(
        "hss-t1",
        title="Data sets of ADMM-HSS",
        question="Are the data sets at hand those of Table 1?",
        counts=("features", "training rows", "test rows"),
        # Where 30 % of the rows are drawn at random, the positive ones among them are as well:
        # three standard deviations.
        tolerances=dict.fromkeys(
            ("positive training rows", "positive test rows"), Tolerance(relative=0.005)
        ),
    ),
    *hss_matrix.STUDIES,
    *hss_bound.STUDIES,
    *hss_grid.STUDIES,
    *hss_tables.STUDIES,
    *hss_steps.STUDIES,
)
