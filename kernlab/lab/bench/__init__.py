"""Benchmarks: kernlab beside its peers, in one process."""
