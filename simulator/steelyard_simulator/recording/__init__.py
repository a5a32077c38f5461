"""Keeps what routers tell of their traffic as a trace file."""
