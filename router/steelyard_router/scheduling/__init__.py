"""The decisions: where a request goes, what it costs there, what it leaves behind.

Everything here is pure. Time is an argument (`now`, seconds of any monotonic clock), randomness is
an argument, and nothing does I/O, so the router and the simulator run the same code.
"""
