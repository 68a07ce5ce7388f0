"""swapcache: continuity for AI agents.

Owns the version. Imports nothing: the hook pays for every module.
"""

__version__ = "0.1.0"
