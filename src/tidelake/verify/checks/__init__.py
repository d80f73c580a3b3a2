"""What a catalog is checked for."""
