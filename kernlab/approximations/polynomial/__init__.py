"""Polynomials of several variables as features: the map of FPC."""

from kernlab.approximations.polynomial.approximation import PolynomialMap, chebyshev_features
from kernlab.approximations.polynomial.chebyshev import ChebyshevBasis, space_dimension
