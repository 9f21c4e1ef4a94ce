"""Build the site: python -m docs [--output FOLDER] [--fast] [--external-links]."""

import argparse
import importlib.util
import os
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
# The examples run one after the other; more threads than cores would wait.
os.environ.setdefault("OMP_NUM_THREADS", "1")


def main(arguments: list[str] | None = None) -> int:
    """Build, with warnings as errors, and return Sphinx's status."""
    parser = argparse.ArgumentParser(prog="python -m docs", description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "site")
    parser.add_argument(
        "--fast", action="store_true", help="do not run the examples of the gallery"
    )
    parser.add_argument(
        "--external-links",
        action="store_true",
        help="check links to other sites instead (asks the network)",
    )
    options = parser.parse_args(arguments)
    if importlib.util.find_spec("sphinx") is None:
        print("The site needs Sphinx: pip install -e '.[docs]'", file=sys.stderr)
        return 2

    from sphinx.cmd.build import build_main

    from docs.site.pages import stage

    start = time.perf_counter()
    source = ROOT / "build" / "docs"
    stage(ROOT, source, pictures=not options.fast)
    status = build_main(
        [
            *["-b", "linkcheck" if options.external_links else "html"],
            *["-W", "--keep-going", "-q", "-j", "auto", "-c", str(ROOT / "docs")],
            *["-d", str(ROOT / "build" / "doctrees")],
            *(["-D", "plot_gallery=0"] if options.fast else []),
            *[str(source), str(options.output)],
        ]
    )
    seconds = time.perf_counter() - start
    print(f"{options.output.resolve()}: {seconds:.0f} s, status {status}")
    return status


if __name__ == "__main__":
    sys.exit(main())
