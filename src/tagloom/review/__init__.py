"""The web page on which the owner of an archive looks through what a run suggests."""
