"""Studies of the FPC paper (Zeng, Wu, Lin and Zhou 2019)."""

from kernlab.studies.data_tables import data_table

STUDIES = (
    data_table(
        "fpc-t1",
        title="UCI data sets of FPC",
        question="Are the data sets at hand those of Table I?",
        counts=("rows", "features"),
    ),
)
