"""The report: what the papers print beside what this machine got, on one page."""

from kernlab.lab.report.page import build_report
from kernlab.lab.report.scoring import scorecard
