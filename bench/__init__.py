"""Benchmarks: what Tidelake costs beside its peers, as ratios from one run."""
