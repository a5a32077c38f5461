"""A step-loop model of an inference server, in virtual time."""
