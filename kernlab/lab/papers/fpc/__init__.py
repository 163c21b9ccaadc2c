"""Studies and figures of the FPC paper (Zeng, Wu, Lin and Zhou 2019)."""
