"""The report: what the papers print beside what this machine got, on one page."""

from kernlab.report.page import build_report
from kernlab.report.scorecard import scorecard

__all__ = ["build_report", "scorecard"]
