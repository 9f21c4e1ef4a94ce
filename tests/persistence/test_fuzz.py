"""Changed files are refused or answer: a short form of tests.persistence.fuzz."""

import json

import numpy as np
import pytest

from committee import save
from committee.persistence import registry
from committee.persistence.file_format import MEMBER, SCHEMA
from tests.persistence.archives import (
    array_of,
    as_file,
    nodes_of,
    opened,
    schema_of,
    written,
)
from tests.persistence.fuzz import Worker, fuzz, is_allowed, outcome, right_answers
from tests.persistence.kinds import KINDS


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_changed_files_are_refused_or_answer():
    counts, findings = fuzz(600, seed=20)
    assert findings == []
    for reply in [("refused", ""), ("refused", "signed"), ("right", "signed")]:
        assert counts[reply] > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_every_part_of_ours_is_in_some_kind_of_file(tmp_path):
    seen = set()
    for kind in KINDS.values():
        save(kind.make(), tmp_path / "m.skops", **kind.options)
        members = opened(tmp_path / "m.skops")
        if SCHEMA not in members:
            continue  # trees as flat arrays, without names of classes
        for node in nodes_of(schema_of(members)):
            if node["__module__"] == registry.__name__:
                seen.add(node["__class__"])
    assert set(registry._PARTS) <= seen


def test_replies_are_judged(tmp_path):
    """With the digest of the changed content a wrong number may pass, NaN may not."""
    path, model = tmp_path / "m.skops", KINDS["tree"].make()
    save(model, path)
    right, members = right_answers(model), opened(path)
    assert set(right) == {"predict", "predict_proba"}
    assert outcome(path, "tree", right) == "right"
    name = next(n for n in members if array_of(members[n]).ndim == 3)
    for factor, sign, reply in [(0.5, True, "other"), (0.5, False, "refused")]:
        changed = array_of(members[name]) * factor + 0.1
        written({**members, name: as_file(changed)}, path, sign=sign)
        assert outcome(path, "tree", right) == reply
    description = {**json.loads(members[MEMBER]), "answers": {}}
    unchecked = {**members, MEMBER: json.dumps(description).encode()}
    classes = next(n for n in members if array_of(members[n]).dtype.kind in "UO")
    for labels in (np.arange(3.0), np.array(["a", "b"])):
        written({**unchecked, classes: as_file(labels)}, path)
        reply = outcome(path, "tree", right)
        assert reply.startswith("predict"), reply
        assert not is_allowed(reply, signed=True)


@pytest.mark.slow
def test_a_worker_that_ends_is_started_anew(tmp_path):
    save(KINDS["tree"].make(), tmp_path / "tree")
    worker = Worker(tmp_path)
    assert worker(tmp_path / "tree", "tree") == "right"
    worker.process.kill()
    worker.process.wait()
    assert worker(tmp_path / "tree", "tree").startswith("crash")
    assert worker(tmp_path / "tree", "tree") == "right"
    worker.close()
