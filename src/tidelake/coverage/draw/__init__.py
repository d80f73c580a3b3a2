"""Pictures of coverage."""
