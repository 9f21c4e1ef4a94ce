"""Run one benchmark: python -m benchmarks NAME [options]."""

import importlib
import pkgutil
import sys

import benchmarks


def main() -> int:
    names = sorted(
        module.name.replace("_", "-")
        for module in pkgutil.iter_modules(benchmarks.__path__)
        if not module.name.startswith("_")
    )
    if len(sys.argv) < 2 or sys.argv[1] not in names:
        print(f"usage: python -m benchmarks NAME, one of: {', '.join(names)}")
        return 2
    module = importlib.import_module(f"benchmarks.{sys.argv[1].replace('-', '_')}")
    module.main(sys.argv[2:])
    return 0


if __name__ == "__main__":
    sys.exit(main())
