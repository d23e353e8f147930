"""Several columns engines that share the work of one, in threads, with the same answers in the same order."""
