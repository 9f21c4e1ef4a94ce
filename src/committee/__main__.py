"""python -m committee: the shell, where the console script is not on the path."""

from committee.cli import main

main()
