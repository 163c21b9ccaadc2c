"""Notebooks as files: their rules, running and renewing them, a new one, and copies as HTML."""
