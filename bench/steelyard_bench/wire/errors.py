"""What can keep the wire benchmark from running.

WireError    a tool that is missing, a router that does not come up, an answer that is wrong
"""


class WireError(Exception):
    """The message says what to do."""
