"""Studies and figures of the sparse Cholesky thesis (Abdellatif 2019)."""

from kernlab.lab.papers.sparse.accuracy import permutation_slip, sigma_sweep
from kernlab.lab.papers.sparse.cost import stages, swiss_roll
from kernlab.lab.papers.sparse.margin import data_sets, margins
from kernlab.lab.papers.sparse.matrix import fill_in, limits, radii, trade_off
from kernlab.lab.papers.sparse.scaling import scalings
from kernlab.lab.papers.sparse.shatter import shattering
from kernlab.lab.papers.sparse.suited import suited_data
from kernlab.lab.papers.sparse.table import against_kernels

__all__ = [
    "against_kernels",
    "data_sets",
    "fill_in",
    "limits",
    "margins",
    "permutation_slip",
    "radii",
    "scalings",
    "shattering",
    "sigma_sweep",
    "stages",
    "suited_data",
    "swiss_roll",
    "trade_off",
]
