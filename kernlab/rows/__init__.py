"""Samples, wherever they are: arrays, sparse matrices, files."""
