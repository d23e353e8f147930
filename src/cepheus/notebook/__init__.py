"""What notebooks show: rules with their drawings, reasons of what was found, timelines; and cells of rules."""
