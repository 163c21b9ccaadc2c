"""Studies and figures of the sparse Cholesky thesis (Abdellatif 2019)."""

from kernlab.lab.papers.sparse.matrix import fill_in, limits, radii, stages, swiss_roll, trade_off
from kernlab.lab.papers.sparse.shatter import margins, shattering
from kernlab.lab.papers.sparse.suited import data_sets, scalings, suited_data
from kernlab.lab.papers.sparse.table import against_kernels, permutation_slip, sigma_sweep
