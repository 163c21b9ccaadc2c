"""Newton's method for squared losses: on features, on a kernel matrix, on a cluster."""

from kernlab.solvers.newton.cluster import ClusterIteration
from kernlab.solvers.newton.core import solve_newton
from kernlab.solvers.newton.kernel import solve_newton_cg
