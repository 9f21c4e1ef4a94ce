"""Every study by its name; a module is imported when its study is asked for."""

from __future__ import annotations

from difflib import get_close_matches
from importlib import import_module

from committee.studies.study import Study

#: In the order in which they are reported.
STUDIES = (
    "chen-regression",
    "chen-classification",
    "chen-ranks",
    "chen-mcmc",
    "chen-synthetic",
    "chen-poker",
    "hamers-sine",
    "hamers-boston",
    "hamers-coupling",
    "hamers-classification",
    "chapter-generators",
)


def get_study(name: str) -> Study:
    """Return a study by its name.

    Parameters
    ----------
    name : str
        One of `STUDIES`.

    Examples
    --------
    >>> from committee.studies.catalogue import get_study
    >>> get_study("chen-poker").reruns
    'Chen, Tino and Yao, Table 12 and Figure 10'
    """
    if name not in STUDIES:
        near = get_close_matches(name, STUDIES, n=1, cutoff=0.4)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise ValueError(
            f"There is no study {name!r}.{hint} The studies are {', '.join(STUDIES)}."
        )
    module = import_module(f"committee.studies.{name.replace('-', '_')}")
    study: Study = module.STUDY
    return study
