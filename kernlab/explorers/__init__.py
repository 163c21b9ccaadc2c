"""Explorers: one widget per module, a pure figure function and the controls that call it."""

from kernlab.explorers.base import Explorer
from kernlab.explorers.playground import playground

__all__ = ["EXPLORERS", "Explorer", "playground"]

EXPLORERS = {
    "playground": playground,
}
