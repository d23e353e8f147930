"""The studio: how fast its page is with millions of events and with a stream, and the pictures of it in the docs."""
