"""The `steelyard` command: argument parsing and printing, nothing else."""
