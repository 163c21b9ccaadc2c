"""Linear solvers: dual coordinate descent on all rows or on blocks of them, and LIBLINEAR."""
