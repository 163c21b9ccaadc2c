"""Explorers: one widget per module, a pure figure function and the controls that call it."""

from kernlab.explorers.base import Explorer
from kernlab.explorers.landmarks import landmarks
from kernlab.explorers.playground import playground

__all__ = ["EXPLORERS", "Explorer", "landmarks", "playground"]

EXPLORERS = {
    "playground": playground,
    "landmarks": landmarks,
}
