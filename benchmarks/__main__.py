"""Run benchmarks: python -m benchmarks NAME [options], or all [--page]."""

import os
import pkgutil
import sys
from pathlib import Path

import benchmarks
from benchmarks._quick import PAGE, run_all, run_one

USAGE = """usage: python -m benchmarks NAME [--quick] [options]
       python -m benchmarks all [--page [FILE]]    every short form

NAME is one of: {names}"""


def names() -> list[str]:
    return sorted(
        module.name.replace("_", "-")
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if not module.name.startswith("_")
    )


def main() -> int:
    asked = sys.argv[1:]
    if asked[:1] == ["all"] and asked[1:2] in ([], ["--page"]) and len(asked) <= 3:
        page = Path(asked[2]) if len(asked) == 3 else PAGE
        return run_all(names(), page if len(asked) > 1 else None)
    if not asked or asked[0] not in names():
        print(USAGE.format(names=", ".join(names())))
        return 2
    run_one(asked[0], asked[1:])
    return 0


if __name__ == "__main__":
    try:
        status = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # As of `| head`. The interpreter would try again to write the rest when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = 1
    sys.exit(status)
