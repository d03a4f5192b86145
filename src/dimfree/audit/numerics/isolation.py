"""Noise is drawn afresh in every process and thread: a copy of a generator's state would repeat another's noise.

Real children by fork (where there is one), a real new interpreter, real threads. Every compared draw has more than a
hundred bits, so two that agree by chance are not to be expected.
"""

import json
import os
import select
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from dimfree.audit.noise_doubles import Pooled
from dimfree.errors import NoiseMisuse
from dimfree.noise import Noise, SystemNoise

Draws = list[str]  # one text for each kind of draw, empty where the door will not draw here

_PATIENCE = 60.0  # seconds for a child
_THREADS = 4
_IN_A_NEW_INTERPRETER = """
import importlib, json, sys
path, module, name = json.load(sys.stdin)
sys.path[:] = path
from dimfree.audit.numerics.isolation import drawn
json.dump(drawn(getattr(importlib.import_module(module), name)()), sys.stdout)
"""


_KINDS: tuple[Callable[[Noise], Any], ...] = (
    lambda door: door.gaussian(2.0**40, 16),
    lambda door: door.laplace(2.0**40, 16),
    lambda door: door.below(2**62, 16),
    lambda door: [door.coin(1, 2) for _ in range(128)],
)


def drawn(door: Noise) -> Draws:
    """Some of every kind of draw, each asked for whatever became of the others."""
    return [_drawn(kind, door) for kind in _KINDS]


def _drawn(kind: Callable[[Noise], Any], door: Noise) -> str:
    try:
        return np.asarray(kind(door)).tobytes().hex()
    except NoiseMisuse:
        return ""


def repeats(*draws: Draws) -> bool:
    """Whether any two of them share a kind of draw."""
    kinds = [[text for text in kind if text] for kind in zip(*draws, strict=True)]
    return any(len(set(kind)) < len(kind) for kind in kinds)


def isolation(open_door: Callable[[], Noise] = SystemNoise, pool: Callable[[Noise], Noise] = Pooled) -> list[str]:
    """No two processes or threads draw the same, whether a door was opened before they parted or after."""
    checks: dict[str, Callable[[], bool]] = {
        "the start of an interpreter": lambda: repeats(_in_new_interpreter(open_door), drawn(open_door())),
        "the start of threads": lambda: repeats(*_in_threads(open_door())),
        "the start of threads at a pool": lambda: repeats(*_in_threads(pool(open_door()))),
    }
    if hasattr(os, "fork"):
        checks |= {
            "a fork": lambda: _forked_repeats(lambda: drawn(open_door())),
            "a fork of an open door": lambda: _forked_repeats(_warm(open_door())),
            "a fork of a pool": lambda: _forked_repeats(_warm(pool(open_door()))),
        }
    return [complaint for name, repeat in checks.items() if (complaint := _complaint(name, repeat))]


def _complaint(name: str, repeat: Callable[[], bool]) -> str:
    """What could not be compared is not known to be right: a complaint, too."""
    try:
        return f"noise repeats itself after {name}" if repeat() else ""
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        return f"noise could not be compared after {name}: {type(error).__name__}"


def _warm(door: Noise) -> Callable[[], Draws]:
    """The door has been used: it has a state, or a pool, that a child would share."""
    for _ in range(3):
        drawn(door)
    return lambda: drawn(door)


def _forked_repeats(draw: Callable[[], Draws]) -> bool:
    """Two children and their parent."""
    draw()  # what is imported, or opened, at the first draw is there before they part
    return repeats(in_child(draw), in_child(draw), draw())


def in_child(draw: Callable[[], Draws]) -> Draws:
    """What a forked child draws. It leaves without cleaning up: nothing in it is its own."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking among threads: the child draws and leaves
        child = os.fork()
    if child == 0:
        status = 1
        try:
            os.write(writer, json.dumps(draw()).encode())
            status = 0
        finally:
            os._exit(status)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        return _answer(child, pipe)


def _answer(child: int, pipe: Any) -> Draws:
    ready, _, _ = select.select([pipe], [], [], _PATIENCE)
    if not ready:
        os.kill(child, signal.SIGKILL)
    text = pipe.read()
    os.waitpid(child, 0)
    if not text:
        raise RuntimeError("A forked child gave no answer.")
    return list(json.loads(text))


def _in_new_interpreter(open_door: Any) -> Draws:
    """As a spawned worker would: nothing is inherited."""
    given = json.dumps([sys.path, open_door.__module__, open_door.__qualname__])
    command = [sys.executable, "-c", _IN_A_NEW_INTERPRETER]
    found = subprocess.run(command, input=given, capture_output=True, text=True, check=True, timeout=_PATIENCE)
    return list(json.loads(found.stdout))


def _in_threads(door: Noise) -> list[Draws]:
    """What threads draw that begin at the same moment, and the thread that opened the door."""
    together, found = threading.Barrier(_THREADS + 1), []

    def draw() -> None:
        together.wait(_PATIENCE)
        found.append(drawn(door))

    threads = [threading.Thread(target=draw) for _ in range(_THREADS)]
    for thread in threads:
        thread.start()
    draw()
    for thread in threads:
        thread.join()
    return found
