"""Studies and figures of the FPC paper (Zeng, Wu, Lin and Zhou 2019)."""

from kernlab.lab.papers.fpc.simulations import (
    alpha_sweep,
    beta_sweep,
    boundaries,
    centre_schemes,
    degree_sweep,
    noise_sweep,
    readings,
    simulated_data,
    tolerance_sweep,
)
from kernlab.lab.papers.fpc.tables import (
    accuracies,
    data_sets,
    images,
    massive,
    prediction_times,
    training_times,
)
from kernlab.lab.papers.fpc.theory import (
    convergence,
    dual_programme,
    fundamental_centres,
    learning_rate,
    shrinking_margin,
)
