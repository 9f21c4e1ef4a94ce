"""How the pages of docs/, the examples and the docstrings become one site."""
