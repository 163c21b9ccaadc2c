"""Explorers: widgets that show what a setting does, each declared in a few lines (`Declared`)."""

from kernlab.lab.explorers.base import Explorer
from kernlab.lab.explorers.declared import Declared
from kernlab.lab.explorers.fpc import fpc_degrees, fpc_noise, fpc_scale, fpc_stopping
from kernlab.lab.explorers.hss import hss_admm, hss_matrix
from kernlab.lab.explorers.linear import block_passes, newton, solver_race
from kernlab.lab.explorers.machines import pairs, playground, two_machines
from kernlab.lab.explorers.nystrom import bandwidth, fourier, landmark_path, landmarks
from kernlab.lab.explorers.sparse import compact_shape, shattering, sparse_kernel

EXPLORERS = {name: each for name, each in globals().items() if isinstance(each, Declared)}
