"""ADMM on the hinge loss of a linear machine (FPC), and its optimum."""
