"""Types and columns as others write them, turned into ours."""
