"""What all measurements use: clocks, what the machine is and has to do, processes of their own."""
