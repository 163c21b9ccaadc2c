"""Explorers: one widget per module, a pure figure function and the controls that call it."""

from kernlab.explorers.base import Explorer
from kernlab.explorers.landmarkpath import landmark_path
from kernlab.explorers.landmarks import landmarks
from kernlab.explorers.newton import newton
from kernlab.explorers.playground import playground

__all__ = ["EXPLORERS", "Explorer", "landmark_path", "landmarks", "newton", "playground"]

EXPLORERS = {
    "playground": playground,
    "landmarks": landmarks,
    "landmark_path": landmark_path,
    "newton": newton,
}
