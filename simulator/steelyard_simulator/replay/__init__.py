"""A fleet of simulated engines behind one or several routers, in virtual time."""
