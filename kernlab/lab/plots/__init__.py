"""The house style, and what figures are made of."""
