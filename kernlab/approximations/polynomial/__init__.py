"""The polynomial kernel at chosen centres as features (FPC)."""
