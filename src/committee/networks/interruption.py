"""Ctrl-C while networks are trained: they end with their epoch, and are kept."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Interruption:
    """Whether somebody pressed Ctrl-C: then epochs that run end, and no others begin."""

    asked: bool = False


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Return what becomes true at the first Ctrl-C; the second one ends the work.

    Only the main thread of a process can be asked, and only where Ctrl-C is not ignored,
    as it is in commands that run in the background.
    """
    interruption, before = Interruption(), signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not main or before is signal.SIG_IGN:
        yield interruption
        return

    def ask(*_: Any) -> None:
        interruption.asked = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, ask)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, before)
