"""The engine model behind HTTP, speaking the OpenAI API the way vLLM does."""
