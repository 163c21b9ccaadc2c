"""Explorers of FPC: degrees, noise, when to stop."""
