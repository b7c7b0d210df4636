"""Keywords of photographs: XMP sidecars, XMP and IPTC in pictures, names of folders."""
