"""The byte path: client connections, upstream connections, and what joins them."""
