"""Readers of hosts' transcripts, one file per format. They never write, never raise on damage."""
