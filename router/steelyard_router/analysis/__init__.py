"""From a request's bytes to what the scheduler may know about it."""
