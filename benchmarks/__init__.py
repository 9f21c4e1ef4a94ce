"""Speed and quality, measured against a rival or a limit in the same run."""
