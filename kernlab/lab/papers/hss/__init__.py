"""Studies and figures of the ADMM-HSS paper (Cipolla and Gondzio 2021)."""

from kernlab.lab.papers.hss.machines import data_sets
from kernlab.lab.papers.hss.matrix import low_rank, objective_bound, step_sweep, tolerance_sweep
from kernlab.lab.papers.hss.tables import admm, exact_kernel, heatmap
