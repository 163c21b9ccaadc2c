"""Studies and figures of the LASN paper (Jiang and Li 2020)."""
