"""Tags as people have them: read from and written to the formats of other programs."""

from tagloom.formats.annotations import Annotation, Annotations
from tagloom.formats.gathering import Gathering, Reading, Remark

__all__ = ["Annotation", "Annotations", "Gathering", "Reading", "Remark"]
