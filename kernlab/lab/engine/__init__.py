"""The engine: a study's grid becomes rows, the rows a tidy table."""
