"""Studies and figures of the LLSVM paper (Zhang, Lan, Wang and Moerchen 2012)."""

from kernlab.lab.papers.llsvm.machines import against_machines, landmark_sweep
from kernlab.lab.papers.llsvm.maps import kernel_maps, prediction_cost, reduced_machine
from kernlab.lab.papers.llsvm.nulls import fourier_features
from kernlab.lab.papers.llsvm.theory import data_sets, factors, weight_bound

__all__ = [
    "against_machines",
    "data_sets",
    "factors",
    "fourier_features",
    "kernel_maps",
    "landmark_sweep",
    "prediction_cost",
    "reduced_machine",
    "weight_bound",
]
