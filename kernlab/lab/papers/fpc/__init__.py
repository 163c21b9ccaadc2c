"""Studies and figures of the FPC paper (Zeng, Wu, Lin and Zhou 2019)."""

from kernlab.lab.papers.fpc.massive import images, massive
from kernlab.lab.papers.fpc.noise import boundaries, noise_sweep
from kernlab.lab.papers.fpc.propositions import dual_programme, fundamental_centres
from kernlab.lab.papers.fpc.readings import readings
from kernlab.lab.papers.fpc.simulations import (
    alpha_sweep,
    beta_sweep,
    centre_schemes,
    degree_sweep,
    simulated_data,
    tolerance_sweep,
)
from kernlab.lab.papers.fpc.tables import accuracies, data_sets, prediction_times, training_times
from kernlab.lab.papers.fpc.theory import convergence, learning_rate, shrinking_margin

__all__ = [
    "accuracies",
    "alpha_sweep",
    "beta_sweep",
    "boundaries",
    "centre_schemes",
    "convergence",
    "data_sets",
    "degree_sweep",
    "dual_programme",
    "fundamental_centres",
    "images",
    "learning_rate",
    "massive",
    "noise_sweep",
    "prediction_times",
    "readings",
    "shrinking_margin",
    "simulated_data",
    "tolerance_sweep",
    "training_times",
]
