"""python -m committee, and the console script: the shell, loaded when it is run."""

from committee.shell.messages import leaving_at_once


def main() -> None:
    """Run the command line; the console script's entry point."""
    with leaving_at_once():
        from committee.cli import app
    app()


if __name__ == "__main__":
    main()
