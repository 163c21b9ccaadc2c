"""Studies and figures of the LLSVM paper (Zhang, Lan, Wang and Moerchen 2012)."""
