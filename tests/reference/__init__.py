"""Slow, plain, obviously right versions of what the library computes."""
