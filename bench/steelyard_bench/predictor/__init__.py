"""How good latency predictions are, and what they cost: `steelyard bench predictor`."""
