"""Studies of the FPC paper (Zeng, Wu, Lin and Zhou 2019)."""

from kernlab.studies import (
    fpc_massive,
    fpc_noise,
    fpc_propositions,
    fpc_readings,
    fpc_simulations,
    fpc_tables,
    fpc_theory,
)
from kernlab.studies.data_tables import data_table

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
