"""What ordering costs, and how good the orders are: `steelyard bench ordering`."""
