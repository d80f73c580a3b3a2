"""Values of Delta that others may use."""
