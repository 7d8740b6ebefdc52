"""`python -m cutline` is `cutline`."""

from cutline.cli import main

main()
