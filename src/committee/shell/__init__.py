"""Commands of the shell: tables in, a saved model or predictions out."""
