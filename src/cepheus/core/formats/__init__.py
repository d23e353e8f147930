"""Events in files and tables: reading, writing and checking them."""
