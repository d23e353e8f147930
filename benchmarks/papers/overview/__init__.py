"""The overview chapter: figures 6 and 7."""
