"""Stand-ins for inference servers and their clients: engine model, HTTP face, trace replay."""
