"""Complete the tags of a collection: one pipeline, see `tagloom.completion.pipeline`."""
