"""Model files with one thing changed: python -m tests.persistence.fuzz --number 1000.

Takes a file of every kind that `save` writes and changes one number, shape, dtype, name,
child or type in its arrays or its schema. A worker process, with limits of memory and
CPU time, loads the file and predicts. Half of the files get the digest of their changed
content, so that the checks behind the digest are reached.

A file may be refused by ModelFileError, or answer as before. With a new digest it may also
give other answers, of the right shape and finite. Everything else is a finding.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

from committee import ModelFileError, load, save
from committee.persistence.file_format import MEMBER, PAYLOAD, SCHEMA, TREES
from tests.persistence.archives import array_of, as_file, nodes_of, opened, written
from tests.persistence.kinds import KINDS, NEW

#: Of the worker, for one file: CPU seconds, seconds, and bytes of memory.
CPU_SECONDS, SECONDS, BYTES = 10.0, 120.0, 4 * 2**30

NUMBERS = (0, 1, -1, 2, 7, 1.5, -0.5, 10**6, 2**31, 2**62, -(2**62), 1e30, 1e300)
NUMBERS += (float("nan"), float("inf"), -float("inf"))
VALUES = (None, True, False, "", "text", [], {}, [1, 2], *NUMBERS)
DTYPES = ("f4", "f8", "i4", "i8", "u1", "?", "U8", "S3", ">f8", "c16", "M8[s]", "V4")


class File:
    """The files of an archive, with its JSON: nodes of a schema, or entries of trees."""

    def __init__(self, members):
        self.members = dict(members)
        self.name = SCHEMA if SCHEMA in members else TREES
        self.schema = json.loads(members[self.name])
        self.nodes = list(nodes_of(self.schema))
        self.arrays = [name for name in members if name.endswith((".npy", ".npz"))]

    def some(self, rng, wanted):
        """A node that has what is wanted; another number makes it no copy of another."""
        nodes = [node for node in self.nodes if wanted(node)]
        node = nodes[rng.integers(len(nodes))]
        node["__id__"] = -int(rng.integers(1, 2**40))
        return node

    def write(self, path, *, sign):
        schema = json.dumps(self.schema).encode()
        written({**self.members, self.name: schema}, path, sign=sign)


def pick(rng, values):
    return values[rng.integers(len(values))]


# --- one change ----------------------------------------------------------------------


def _array(rng, file, change):
    name = pick(rng, [name for name in file.arrays if name.endswith(".npy")])
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        file.members[name] = as_file(change(array_of(file.members[name]).copy()))


def _number(rng, file):
    def change(array):
        field = pick(rng, array.dtype.names) if array.dtype.names else ...
        part = array[field].reshape(-1)
        if part.size:
            at, value = rng.integers(part.size), pick(rng, NUMBERS)
            part[at] = pick(
                rng, [value, part[at] * 2 if part.dtype.kind in "if" else value]
            )
        return array if array.dtype.names else part.reshape(array.shape)

    _array(rng, file, change)


def _bit(rng, file):
    def change(array):
        content = np.frombuffer(array.tobytes(), dtype=np.uint8).copy()
        if content.size:
            content[rng.integers(content.size)] ^= 1 << rng.integers(8)
        return np.frombuffer(content.tobytes(), array.dtype).reshape(array.shape)

    _array(rng, file, change)


def _shape(rng, file):
    ways = [
        lambda a: a[:0],
        lambda a: a[:-1],
        lambda a: a[:1],
        lambda a: np.concatenate([a, a]),
        lambda a: a[None],
        lambda a: a[..., None],
        lambda a: a.T,
        lambda a: a.ravel(),
        lambda a: a.ravel()[0].reshape(()),
        lambda a: np.repeat(a, 3, axis=-1),
        lambda a: a[..., ::-1],
        lambda a: np.zeros((0,) * a.ndim, a.dtype),
        lambda a: np.broadcast_to(a, (3, *a.shape)).copy(),
    ]
    _array(rng, file, lambda array: pick(rng, ways)(np.atleast_1d(array)))


def _dtype(rng, file):
    _array(rng, file, lambda array: array.astype(pick(rng, DTYPES)))


def _another_array(rng, file):
    one, other = rng.choice(file.arrays, 2)
    file.members[one] = file.members[other]


def _value(rng, file):
    node = file.some(rng, lambda node: node["__loader__"] == "JsonNode")
    node["content"] = json.dumps(pick(rng, VALUES))


def _name(rng, file):
    """Rename an attribute or key, or drop it."""
    content = file.some(rng, lambda node: isinstance(node.get("content"), dict))[
        "content"
    ]
    if content:
        name = pick(rng, list(content))
        part = content.pop(name)
        if rng.random() < 0.5:
            content[pick(rng, [name + "x", "n_features_in_", "coef_", "tree_"])] = part


def _type(rng, file):
    """Give a node the class, or the loader, of another one."""
    one = file.some(rng, lambda node: True)
    other = pick(rng, file.nodes)
    keys = pick(rng, [["__class__", "__module__"], ["__loader__"]])
    one.update({key: other[key] for key in keys})


def _child(rng, file):
    """Put a copy of a node, or the node itself, in the place of another."""
    one, other = file.some(rng, lambda node: True), pick(rng, file.nodes)
    other = copy.deepcopy(other)
    if rng.random() < 0.7:
        for i, node in enumerate(nodes_of(other)):
            node["__id__"] = -(2**41) - i
    one.clear()
    one.update(other)


def _items(rng, file):
    """Drop, double or exchange items of a list."""
    node = file.some(rng, lambda node: isinstance(node.get("content"), list))
    items = node["content"]
    if items:
        i, j = rng.integers(len(items), size=2)
        pick(
            rng,
            [
                lambda: items.pop(i),
                lambda: items.append(items[i]),
                lambda: items.__setitem__(slice(None), items[::-1]),
                lambda: items.__setitem__(i, items[j]),
                items.clear,
            ],
        )()


def _description(rng, file):
    description = json.loads(file.members[MEMBER])
    name = pick(rng, list(description))
    description[name] = pick(rng, VALUES)
    file.members[MEMBER] = json.dumps(description).encode()


def _member(rng, file):
    """Drop a file of the archive, or change its bytes."""
    name = pick(rng, list(file.members))
    content = bytearray(file.members.pop(name))
    if rng.random() < 0.8 and content and name != file.name:
        content[rng.integers(len(content))] = rng.integers(256)
        file.members[name] = bytes(content)


def _entry(rng, file):
    """Change, drop or rename an entry of a compact file."""
    holder, name = file.schema, pick(rng, list(file.schema))
    while (
        isinstance(holder[name], (dict, list)) and holder[name] and rng.random() < 0.7
    ):
        holder = holder[name]
        name = pick(
            rng, list(holder) if isinstance(holder, dict) else range(len(holder))
        )
    way = rng.random()
    if way < 0.8:
        holder[name] = pick(rng, [*VALUES, *file.schema.values()])
    elif way < 0.9 or isinstance(holder, list):
        holder.pop(name)
    else:
        holder[f"{name}x"] = holder.pop(name)


def _payload(rng, file):
    """Flip a bit of the trees, or cut, double or reverse their bytes."""
    content = bytearray(file.members[PAYLOAD])
    flipped = content.copy()
    flipped[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    ways = [content[:-1], content * 2, content[::-1], b"", bytes(len(content))]
    file.members[PAYLOAD] = bytes(flipped if rng.random() < 0.7 else pick(rng, ways))


#: Of compact files, and of all others.
COMPACT_CHANGES = [_entry, _entry, _payload, _payload, _description, _member]
CHANGES = [
    _number,
    _number,
    _bit,
    _shape,
    _shape,
    _dtype,
    _another_array,
    _value,
    _value,
]
CHANGES += [_name, _type, _child, _child, _items, _description, _member]


# --- the worker ----------------------------------------------------------------------


METHODS = ("predict", "predict_proba", "predict_interval", "predict_set")


def answers(model, methods):
    """What a model answers for new rows, by method."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return {method: np.asarray(getattr(model, method)(NEW)) for method in methods}


def right_answers(model):
    """The answers of all methods that the model has."""
    right = {}
    for method in METHODS:
        with contextlib.suppress(AttributeError, ValueError):
            right |= answers(model, [method])
    return right


def outcome(path, kind, right):
    """What becomes of a file: "refused", "right", "other", or a sentence."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = load(path, trusted=KINDS[kind].trusted)
    except ModelFileError:
        return "refused"
    except Exception as error:  # noqa: BLE001 - any exception is a finding
        return f"load: {type(error).__name__}: {error}"
    try:
        found = answers(model, right)
    except Exception as error:  # noqa: BLE001 - any exception is a finding
        return f"predict: {type(error).__name__}: {error}"
    for method, answer in found.items():
        if answer.dtype.kind != right[method].dtype.kind:
            return f"{method} has the type {answer.dtype}"
        if answer.shape != right[method].shape:
            return f"{method} has the shape {answer.shape}"
        if answer.dtype.kind == "f" and not np.isfinite(answer).all():
            return f"{method} is not finite"
    same = all(np.array_equal(found[method], right[method]) for method in found)
    return "right" if same else "other"


def work(folder):
    """Read lines with a path and a kind, write lines with what became of the file."""
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    signal.signal(signal.SIGPROF, signal.SIG_DFL)  # ends the process
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints is no reply
    right = {}
    for line in sys.stdin:
        path, kind = json.loads(line)
        if kind not in right:
            whole = load(Path(folder) / kind, trusted=KINDS[kind].trusted)
            right[kind] = right_answers(whole)
        signal.setitimer(signal.ITIMER_PROF, CPU_SECONDS)
        reply = outcome(path, kind, right[kind])
        signal.setitimer(signal.ITIMER_PROF, 0)
        print(json.dumps(reply), file=replies, flush=True)


class Worker:
    """A process that is started anew when a file has ended it."""

    def __init__(self, folder):
        self.command = [sys.executable, "-m", __spec__.name, "--worker", str(folder)]
        self.process = None

    def __call__(self, path, kind):
        if self.process is None:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
            self.process = subprocess.Popen(
                self.command, **pipes, stderr=subprocess.DEVNULL, text=True
            )
        with contextlib.suppress(BrokenPipeError):  # its last file has ended it
            print(json.dumps([str(path), kind]), file=self.process.stdin, flush=True)
        ready = select.select([self.process.stdout], [], [], SECONDS)[0]
        line = self.process.stdout.readline() if ready else ""
        if line:
            return json.loads(line)
        if ready:  # it has ended, or is about to
            self.process.wait(SECONDS)
        self.close()
        hung = not ready or self.code == -signal.SIGPROF
        return "hang" if hung else f"crash: {self.code}"

    def close(self):
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.code, self.process = self.process.returncode, None


# --- many files ----------------------------------------------------------------------


def is_allowed(reply, signed):
    return reply in ("refused", "right") or (signed and reply == "other")


def fuzz(number, seed=0, kinds=None, keep=None):
    """Count the replies to changed files, and return them with the findings."""
    rng = np.random.default_rng(seed)
    counts, findings = Counter(), []
    with tempfile.TemporaryDirectory() as folder:
        folder = Path(folder)
        files = {}
        for kind in kinds or KINDS:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                save(KINDS[kind].make(), folder / kind, **KINDS[kind].options)
            files[kind] = opened(folder / kind)
        worker = Worker(folder)
        for i in range(number):
            kind, sign = pick(rng, list(files)), i % 2 == 0
            sign = sign and not KINDS[kind].trusted  # their own code reads the file
            file, path = File(files[kind]), folder / "changed.skops"
            change = pick(rng, CHANGES if file.name == SCHEMA else COMPACT_CHANGES)
            try:
                change(rng, file)
                file.write(path, sign=sign)
            except (ValueError, TypeError, OverflowError, IndexError):
                counts["not changed"] += 1  # an infinite integer, for example
                continue
            reply = worker(path, kind)
            allowed = is_allowed(reply, sign)
            counts[reply if allowed else "finding", "signed" if sign else ""] += 1
            if not allowed:
                findings.append((i, kind, change.__name__, sign, reply))
                if keep:
                    Path(keep).mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, Path(keep) / f"{i}-{kind}.skops")
        worker.close()
    return counts, findings


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=1000)
    parser.add_argument("--kind", action="append", choices=KINDS)
    parser.add_argument("--keep", help="folder for files that are findings")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        return work(options.worker)
    counts, findings = fuzz(options.number, options.seed, options.kind, options.keep)
    for finding in findings:
        print(*finding)
    for key, count in sorted(counts.items(), key=str):
        print(f"{count:7,}", *([key] if isinstance(key, str) else key))
    return int(bool(findings))


if __name__ == "__main__":
    sys.exit(main())
