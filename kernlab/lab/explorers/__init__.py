"""Explorers: one widget per module, a pure function that draws and the controls that call it."""

from kernlab.lab.explorers.bandwidth import bandwidth
from kernlab.lab.explorers.base import Explorer
from kernlab.lab.explorers.fourier import fourier
from kernlab.lab.explorers.fpc.degrees import fpc_degrees
from kernlab.lab.explorers.fpc.noise import fpc_noise
from kernlab.lab.explorers.fpc.scale import fpc_scale
from kernlab.lab.explorers.fpc.stopping import fpc_stopping
from kernlab.lab.explorers.hss.admm import hss_admm
from kernlab.lab.explorers.hss.matrix import hss_matrix
from kernlab.lab.explorers.landmarks import landmarks
from kernlab.lab.explorers.newton import newton
from kernlab.lab.explorers.passes import block_passes
from kernlab.lab.explorers.path import landmark_path
from kernlab.lab.explorers.playground import playground
from kernlab.lab.explorers.solvers import solver_race
from kernlab.lab.explorers.sparse.matrix import sparse_kernel
from kernlab.lab.explorers.sparse.shape import compact_shape
from kernlab.lab.explorers.sparse.shattering import shattering

EXPLORERS = {
    explorer.__name__: explorer
    for explorer in (
        playground,
        bandwidth,
        block_passes,
        landmarks,
        landmark_path,
        fourier,
        newton,
        solver_race,
        sparse_kernel,
        compact_shape,
        shattering,
        hss_matrix,
        hss_admm,
        fpc_stopping,
        fpc_degrees,
        fpc_noise,
        fpc_scale,
    )
}

__all__ = ["EXPLORERS", "Explorer", *EXPLORERS]
