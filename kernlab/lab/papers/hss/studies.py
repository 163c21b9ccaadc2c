"""Studies of the ADMM-HSS paper (Cipolla and Gondzio 2021)."""

from kernlab.lab.engine.base import Tolerance
from kernlab.lab.papers.common.data_tables import data_table
from kernlab.lab.papers.hss import bound as hss_bound
from kernlab.lab.papers.hss import grid as hss_grid
from kernlab.lab.papers.hss import matrix as hss_matrix
from kernlab.lab.papers.hss import steps as hss_steps
from kernlab.lab.papers.hss import tables as hss_tables

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
