"""The files in a model file, to change them and write them again."""

import io
import json
import zipfile

import numpy as np

from committee.persistence.file_format import MEMBER, SCHEMA, signed


def opened(path):
    """The content of every file of the archive, by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def written(members, path, *, sign=True):
    """Write the archive; `sign` gives it the digest of its changed content."""
    if sign and MEMBER in members:
        members = {**members, MEMBER: signed(members, json.loads(members[MEMBER]))}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def array_of(content):
    return np.load(io.BytesIO(content), allow_pickle=False)


def as_file(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def nodes_of(schema):
    """Every node of the schema, the first to last as skops reads them."""
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            if "__loader__" in part:
                yield part
            waiting.extend(reversed(part.values()))
        elif isinstance(part, list):
            waiting.extend(reversed(part))


def schema_of(members):
    return json.loads(members[SCHEMA])


def with_schema(members, schema):
    return {**members, SCHEMA: json.dumps(schema).encode()}


def attribute(schema, owner, name):
    """The node of an attribute of the only object of a class."""
    (node,) = (n for n in nodes_of(schema) if n["__class__"] == owner)
    return node["content"]["content"][name]
