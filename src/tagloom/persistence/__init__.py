"""Model files: the file format (`container`) and what is written in it (`codecs`)."""

from tagloom.persistence.container import ModelHeader, read_metadata

__all__ = ["ModelHeader", "read_metadata"]
