"""Benchmarks: kernlab beside its peers. Each declares its work; `harness` does the rest."""

from kernlab.lab.bench.dask import on_a_cluster, weak_scaling
from kernlab.lab.bench.fpc import polynomials
from kernlab.lab.bench.hss import hierarchical
from kernlab.lab.bench.kernels import kernel_blocks
from kernlab.lab.bench.limit import near_limit
from kernlab.lab.bench.nystrom import on_landmarks
from kernlab.lab.bench.sparse import compact_support
from kernlab.lab.bench.trust import defaults, memory
