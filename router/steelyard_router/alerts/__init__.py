"""Rules over windowed distributions: when one fires, clears, and what it says then."""
