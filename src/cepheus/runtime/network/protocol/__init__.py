"""What processors say to one another: messages, their bytes, links that lose nothing."""
