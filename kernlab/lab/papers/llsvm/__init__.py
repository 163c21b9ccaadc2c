"""Studies and figures of the LLSVM paper (Zhang, Lan, Wang and Moerchen 2012)."""

from kernlab.lab.papers.llsvm.machines import against_machines, landmark_sweep
from kernlab.lab.papers.llsvm.maps import (
    data_sets,
    factors,
    fourier_features,
    kernel_maps,
    prediction_cost,
    reduced_machine,
    weight_bound,
)
