"""Rules of other systems, converted to TESLA: each exactly, or refused with the construct that has no equivalent."""
