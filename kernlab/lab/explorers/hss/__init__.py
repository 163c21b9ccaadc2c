"""Explorers of ADMM-HSS: the hierarchical matrix, and ADMM on it."""
