"""Explorers: one widget per module, a pure figure function and the controls that call it."""

from kernlab.lab.explorers.base import Explorer
from kernlab.lab.explorers.compactshape import compact_shape
from kernlab.lab.explorers.fpc.degrees import fpc_degrees
from kernlab.lab.explorers.fpc.noise import fpc_noise
from kernlab.lab.explorers.fpc.stopping import fpc_stopping
from kernlab.lab.explorers.hss_admm import hss_admm
from kernlab.lab.explorers.hss_matrix import hss_matrix
from kernlab.lab.explorers.landmarkpath import landmark_path
from kernlab.lab.explorers.landmarks import landmarks
from kernlab.lab.explorers.newton import newton
from kernlab.lab.explorers.playground import playground
from kernlab.lab.explorers.shattering import shattering
from kernlab.lab.explorers.sparsekernel import sparse_kernel

__all__ = [
    "EXPLORERS",
    "Explorer",
    "compact_shape",
    "fpc_degrees",
    "fpc_noise",
    "fpc_stopping",
    "hss_admm",
    "hss_matrix",
    "landmark_path",
    "landmarks",
    "newton",
    "playground",
    "shattering",
    "sparse_kernel",
]

EXPLORERS = {
    "playground": playground,
    "fpc_stopping": fpc_stopping,
    "fpc_degrees": fpc_degrees,
    "fpc_noise": fpc_noise,
    "landmarks": landmarks,
    "landmark_path": landmark_path,
    "newton": newton,
    "sparse_kernel": sparse_kernel,
    "compact_shape": compact_shape,
    "shattering": shattering,
    "hss_matrix": hss_matrix,
    "hss_admm": hss_admm,
}
