"""Replays request traces against any OpenAI-compatible URL and measures what clients see."""
