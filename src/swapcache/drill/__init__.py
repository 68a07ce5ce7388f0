"""The drill: a session is killed in mid-turn, and the next one is told what it was doing."""
