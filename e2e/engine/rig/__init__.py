"""What the tests here stand on: real engines under `steelyard up`, clients, peers."""
