"""Model files: the container and its codecs."""
