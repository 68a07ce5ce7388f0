"""Agent hosts, one file each: their payloads, answers and configuration."""
