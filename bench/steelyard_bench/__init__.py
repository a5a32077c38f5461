"""What Steelyard measures about itself: decision cost, the demo comparison."""
