"""A table with all that tables have, and models trained on it once."""

import numpy as np
import pandas as pd
import pytest

from committee.shell.output import Voice
from committee.shell.train_command import Recipe, train

#: Says nothing.
QUIET = Voice(quiet=True)


def make_table(n=120, seed=0):
    """Numbers with gaps, words with gaps, booleans, and both kinds of target."""
    rng = np.random.default_rng(seed)
    size = rng.normal(size=n).round(3)
    town = rng.choice(["Bonn", "Kiel", "Ulm"], n)
    frame = pd.DataFrame(
        {
            "size": size,
            "age": rng.integers(20, 60, n).astype(float),
            "town": town,
            "code": rng.choice([f"c{i:02d}" for i in range(30)], n),
            "member": rng.random(n) < 0.5,
            "grade": np.where((size > 0) ^ (town == "Bonn"), "yes", "no"),
            "price": (3 * size + rng.normal(size=n)).round(3),
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame.loc[::9, "town"] = None
    return frame


@pytest.fixture
def table():
    return make_table()


@pytest.fixture(scope="session")
def trained(tmp_path_factory):
    """A folder with grades.csv and prices.csv, and a model of each."""
    folder = tmp_path_factory.mktemp("trained")
    make_table().drop(columns="price").to_csv(folder / "grades.csv", index=False)
    make_table().drop(columns="grade").to_csv(folder / "prices.csv", index=False)
    for data, target, name in (
        ("grades", "grade", "classifier"),
        ("prices", "price", "regressor"),
    ):
        train(
            str(folder / f"{data}.csv"),
            target=target,
            output=str(folder / f"{name}.skops"),
            recipe=Recipe(members=8),
            voice=Voice(quiet=True, as_json=True),
        )
    return folder
