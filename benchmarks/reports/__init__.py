"""Tables, requirements, pictures and the page of the documentation."""
