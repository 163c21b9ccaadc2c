"""Studies and figures of the LASN paper (Jiang and Li 2020).

Every study is a function of what a reader may turn; without arguments it is the catalogue's:

>>> from kernlab.lab.papers import lasn
>>> lasn.landmark_sweep().id
'lasn-f4'
>>> lasn.landmark_sweep(datasets=["magic"], landmarks=[10, 20]).id
'lasn-f4@d0e0f2'
"""

from kernlab.lab.papers.lasn.studies import (
    against_libsvm,
    comparison_sets,
    convergence,
    cost_sweep,
    factors,
    landmark_sweep,
    solvers,
    sweep_sets,
    weight_bound,
)
