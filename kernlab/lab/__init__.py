"""The workbench: what reproduces the papers and explores them. The library does not know it."""

from kernlab.lab.published import published

__all__ = ["published"]
