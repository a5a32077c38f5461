"""What differs between inference servers: metric names and what they tell."""
