"""LASN and its solvers beside their peers."""
