"""The Steelyard router: sends each LLM request where it does the least harm."""
