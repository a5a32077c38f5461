"""Where the endpoints come from."""
