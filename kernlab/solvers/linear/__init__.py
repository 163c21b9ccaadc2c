"""Linear solvers by coordinates or blocks of rows: dual coordinate descent, SBM, LIBLINEAR."""
