"""Studies and figures that several papers share."""
