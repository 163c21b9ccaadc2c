"""Semismooth Newton methods for the squared losses, on features and on a kernel matrix."""
