"""Studies and figures that no paper has: all of the papers' machines with their competitors."""

from kernlab.lab.papers.across.protocol import showdown

__all__ = ["showdown"]
