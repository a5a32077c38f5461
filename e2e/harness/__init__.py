"""What the end-to-end tests stand on: a cluster, the product in it, and what went wrong."""
