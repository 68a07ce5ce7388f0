"""`python -m swapcache.cli`, for where the program is not on the PATH."""

from swapcache.cli import main

main()
