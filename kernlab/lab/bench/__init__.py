"""Benchmarks: kernlab beside its peers. Each declares its work; `harness` does the rest."""

from kernlab.lab.bench import dask, fpc, hss, kernels, nystrom, sparse
from kernlab.lab.bench.limit import near_limit
from kernlab.lab.bench.trust import defaults, memory

__all__ = ["STUDIES", "defaults", "memory", "near_limit"]

STUDIES = (kernels.STUDY, nystrom.STUDY, fpc.STUDY, *dask.STUDIES, sparse.STUDY, hss.STUDY)
