"""A typed view of the two kinds, steelyard.io/v1alpha1."""
