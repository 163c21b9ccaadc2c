"""The workbench: what reproduces the papers and explores them. The library does not know it."""

from importlib import import_module

from kernlab.lab.published import published

__all__ = ["notebook", "published", "study"]


def __getattr__(name):
    # All studies, figures and the notebook's helpers load on first use: help must be instant.
    if name == "study":
        return import_module("kernlab.lab.catalogue").study
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
