"""The local web page on which the owner of a collection reviews the suggestions of a run."""
