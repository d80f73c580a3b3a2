"""What `tidelake doctor` looks at: the `machine`, and the `lake` as this machine sees it."""
