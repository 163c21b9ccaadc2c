"""Studies and figures of the sparse Cholesky thesis (Abdellatif 2019)."""
