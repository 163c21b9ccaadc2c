"""Studies of the FPC paper (Zeng, Wu, Lin and Zhou 2019)."""

from kernlab.lab.papers.common.data_tables import data_table
from kernlab.lab.papers.fpc import massive as fpc_massive
from kernlab.lab.papers.fpc import noise as fpc_noise
from kernlab.lab.papers.fpc import propositions as fpc_propositions
from kernlab.lab.papers.fpc import readings as fpc_readings
from kernlab.lab.papers.fpc import simulations as fpc_simulations
from kernlab.lab.papers.fpc import tables as fpc_tables
from kernlab.lab.papers.fpc import theory as fpc_theory

STUDIES = (
    *fpc_propositions.STUDIES,
    *fpc_theory.STUDIES,
    *fpc_simulations.STUDIES,
    *fpc_readings.STUDIES,
    *fpc_noise.STUDIES,
    *fpc_tables.STUDIES,
    *fpc_massive.STUDIES,
    data_table(
        "fpc-t1",
        title="UCI data sets of FPC",
        question="Are the data sets at hand those of Table I?",
        counts=("rows", "features"),
    ),
)
