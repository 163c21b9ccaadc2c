"""Explorers of FPC: degrees, noise, when to stop, and what more rows cost."""
