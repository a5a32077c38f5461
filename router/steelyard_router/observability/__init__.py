"""What the router tells about itself: metrics, status, decisions."""
