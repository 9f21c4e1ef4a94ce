"""What the commands do: tables in, a saved model or predictions out."""
