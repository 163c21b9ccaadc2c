"""Studies and figures of the ADMM-HSS paper (Cipolla and Gondzio 2021)."""
