"""Tables of tags: CSV in four forms, and JSON lines."""
