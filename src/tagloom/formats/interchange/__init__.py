"""Files that annotation programs exchange."""
