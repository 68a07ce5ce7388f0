"""Readers of hosts' transcripts, one file per format. They never write and never raise on damage."""
