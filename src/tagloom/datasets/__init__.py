"""Data sets: loaders and generated ones."""
