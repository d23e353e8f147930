"""The measured sentences of the papers as data, and whether our figures bear them out."""
