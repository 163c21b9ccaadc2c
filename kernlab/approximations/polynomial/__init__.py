"""Polynomials of several variables as features: the map of FPC."""

from kernlab.approximations.polynomial.approximation import (
    CentreCheck,
    PolynomialMap,
    chebyshev_features,
    check_degree,
)
from kernlab.approximations.polynomial.chebyshev import ChebyshevBasis, space_dimension

__all__ = [
    "CentreCheck",
    "ChebyshevBasis",
    "PolynomialMap",
    "chebyshev_features",
    "check_degree",
    "space_dimension",
]
