"""Values of coverage that others may use."""
