"""What tests share: engines that behave as told, and a router around them, all on loopback."""
