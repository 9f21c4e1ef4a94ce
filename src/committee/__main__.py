"""Entry point of `python -m committee` and of the console script."""

from committee.shell.messages import leaving_at_once


def main() -> None:
    """Run the command line."""
    with leaving_at_once():
        from committee.cli import app
    app()


if __name__ == "__main__":
    main()
