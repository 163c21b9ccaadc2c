"""Studies and figures that no paper has: all of the papers' machines with their competitors."""

from kernlab.lab.papers.across.algebra import algebra
from kernlab.lab.papers.across.choosing import recommended
from kernlab.lab.papers.across.costs import costs, scaling
from kernlab.lab.papers.across.errata import errata
from kernlab.lab.papers.across.protocol import showdown
from kernlab.lab.papers.across.strengths import strengths
