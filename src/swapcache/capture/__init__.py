"""Capture: host events and transcripts to sealed records."""
