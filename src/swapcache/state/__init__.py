"""Working state: folded from messages, published as snapshots."""
