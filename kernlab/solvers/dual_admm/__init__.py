"""ADMM on the dual problem, by solves with K~ + beta I (ADMM-HSS)."""
