"""Explorers of the sparse Cholesky thesis: its kernel, its matrix, what lines separate."""
