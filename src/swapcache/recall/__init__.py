"""Recall: reading back what was recorded."""
