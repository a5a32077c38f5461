"""Stand-ins for inference servers and their clients: an engine model, its HTTP face, trace replay."""
