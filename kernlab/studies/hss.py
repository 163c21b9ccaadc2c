"""Studies of the ADMM-HSS paper (Cipolla and Gondzio 2021)."""

from kernlab.studies.data_tables import data_table

STUDIES = (
    data_table(
        "hss-t1",
        title="Data sets of ADMM-HSS",
        question="Are the data sets at hand those of Table 1?",
        counts=(
            "features",
            "training rows",
            "positive training rows",
            "test rows",
            "positive test rows",
        ),
    ),
)
