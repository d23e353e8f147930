"""What every engine meets and uses: the interface, limits, capabilities, snapshots."""
