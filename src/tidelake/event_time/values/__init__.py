"""Values of event time that others may use."""
