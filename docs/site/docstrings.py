"""Docstrings as Sphinx takes them: ours are plain text with Markdown's backticks."""

import re

#: What reStructuredText would take for markup: `name_`, `*args`, `|x|`.
_MARKUP = re.compile(r"(?<=\w)_(?!\w)|\*+|\|")
_SECTIONS_OF_NAMES = ("Parameters", "Attributes", "Returns", "Yields", "Raises")


def as_restructured_text(lines: list[str]) -> list[str]:
    """Indented equations become literal blocks, and signs are signs."""
    done: list[str] = []
    section, literal = "", False
    for number, line in enumerate(lines):
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if following and set(following) == {"-"} and len(following) >= 3:
            section = line
        if line[:1].strip():
            literal = False
        if _begins_equation(section, line, done) and not literal:
            done += [".. code-block:: text", ""]
            literal = True
        done.append(line if literal or _is_code(section, line) else _escaped(line))
    return done


def _begins_equation(section: str, line: str, before: list[str]) -> bool:
    """Say whether an indented line after an empty one is no text of a parameter."""
    after_gap = not before or not before[-1]
    return section not in _SECTIONS_OF_NAMES and line[:4] == "    " and after_gap


def _is_code(section: str, line: str) -> bool:
    return section == "Examples" or line.lstrip().startswith((">>> ", "... ", "..  "))


def _escaped(line: str) -> str:
    parts = re.split(r"(``[^`]+``|`[^`]+`)", line)
    return "".join(
        part if part.startswith("`") else _MARKUP.sub(r"\\\g<0>", part)
        for part in parts
    )


def process(app, what, name, obj, options, lines):
    """Run before numpydoc, which then makes the sections."""
    lines[:] = as_restructured_text(lines)
