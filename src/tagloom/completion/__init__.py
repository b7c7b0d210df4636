"""A folder in, finished tags out."""
