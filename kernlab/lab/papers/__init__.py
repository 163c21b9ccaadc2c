"""The papers: studies and figures of each, together."""
