"""Wake: what the next session is told, whether it is told, and the proof of it."""
