"""What holds for every test, those in the README and the pages included."""

from importlib.util import find_spec

import numpy as np

# The pages of docs/ are doctests; the code that makes a site of them needs Sphinx.
collect_ignore_glob = ["docs/*.py"]
if find_spec("autogluon") is None:
    collect_ignore_glob.append("src/committee/interop/autogluon_model.py")


def pytest_runtest_setup():
    """Let estimators without a `random_state` draw the same numbers on every run."""
    np.random.seed(0)  # noqa: NPY002 - the generator that scikit-learn falls back to
