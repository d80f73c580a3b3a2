"""Pure planning: values in, values out; no SQL, no I/O, no clock."""
