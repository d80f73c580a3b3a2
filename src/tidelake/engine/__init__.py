"""The only room with rows: runs a `ScanPlan` and hands back tables."""
