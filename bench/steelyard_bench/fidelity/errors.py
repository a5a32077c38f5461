"""What can keep the study from running.

FidelityError    an engine that is not installed, a process that does not come up or an answer that
                 is wrong
"""


class FidelityError(Exception):
    """The message says what to do."""
