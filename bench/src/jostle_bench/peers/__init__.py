"""jostle beside what people would use instead: the same work, in the same run, each peer in an environment of its own."""
