"""The paper on uncertainty: figures 6 to 12."""
