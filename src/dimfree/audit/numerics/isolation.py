"""Noise is drawn anew in every process and thread: a copy of a generator's state would repeat another's noise.

Tested with forked children (where there is a fork), a new interpreter and threads. Every compared draw has more than a
hundred bits, so two do not agree by chance.
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

from dimfree.audit.noise_doubles import PooledNoise
from dimfree.errors import NoiseMisuse
from dimfree.noise import Noise, SystemNoise

Draws = list[str]  # one text for each kind of draw, empty where the noise refuses to draw here

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
    lambda noise: noise.gaussian(2.0**40, 16),
    lambda noise: noise.laplace(2.0**40, 16),
    lambda noise: noise.below(2**62, 16),
    lambda noise: [noise.coin(1, 2) for _ in range(128)],
)


def drawn(noise: Noise) -> Draws:
    """Some of every kind of draw, each asked for whatever became of the others."""
    return [_drawn(kind, noise) for kind in _KINDS]


def _drawn(kind: Callable[[Noise], Any], noise: Noise) -> str:
    try:
        return np.asarray(kind(noise)).tobytes().hex()
    except NoiseMisuse:
        return ""


def repeats(*draws: Draws) -> bool:
    """Whether any two of them share a kind of draw."""
    kinds = [[text for text in kind if text] for kind in zip(*draws, strict=True)]
    return any(len(set(kind)) < len(kind) for kind in kinds)


def isolation(open_noise: Callable[[], Noise] = SystemNoise, pool: Callable[[Noise], Noise] = PooledNoise) -> list[str]:
    """No two processes or threads draw the same, whether the noise was opened before they were started or after."""
    checks: dict[str, Callable[[], bool]] = {
        "the start of an interpreter": lambda: repeats(_in_new_interpreter(open_noise), drawn(open_noise())),
        "the start of threads": lambda: repeats(*_in_threads(open_noise())),
        "the start of threads at a pool": lambda: repeats(*_in_threads(pool(open_noise()))),
    }
    if hasattr(os, "fork"):
        checks |= {
            "a fork": lambda: _forked_repeats(lambda: drawn(open_noise())),
            "a fork of opened noise": lambda: _forked_repeats(_warm(open_noise())),
            "a fork of a pool": lambda: _forked_repeats(_warm(pool(open_noise()))),
        }
    return [complaint for name, repeat in checks.items() if (complaint := _complaint(name, repeat))]


def _complaint(name: str, repeat: Callable[[], bool]) -> str:
    """What could not be compared is not known to be right: a complaint, too."""
    try:
        return f"noise repeats itself after {name}" if repeat() else ""
    except (OSError, RuntimeError, subprocess.SubprocessError) as error:
        return f"noise could not be compared after {name}: {type(error).__name__}"


def _warm(noise: Noise) -> Callable[[], Draws]:
    """The noise has been used: it has a state, or a pool, that a child would copy."""
    for _ in range(3):
        drawn(noise)
    return lambda: drawn(noise)


def _forked_repeats(draw: Callable[[], Draws]) -> bool:
    """Two children and their parent."""
    draw()  # what is imported, or opened, at the first draw is there before the fork
    return repeats(in_child(draw), in_child(draw), draw())


def in_child(draw: Callable[[], Draws]) -> Draws:
    """What a forked child draws. It exits without cleaning up."""
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # a fork with threads running: the child only draws
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


def _in_new_interpreter(open_noise: Any) -> Draws:
    """As a spawned worker would: nothing is inherited."""
    given = json.dumps([sys.path, open_noise.__module__, open_noise.__qualname__])
    command = [sys.executable, "-c", _IN_A_NEW_INTERPRETER]
    found = subprocess.run(command, input=given, capture_output=True, text=True, check=True, timeout=_PATIENCE)
    return list(json.loads(found.stdout))


def _in_threads(noise: Noise) -> list[Draws]:
    """What threads draw that begin at the same moment, and the thread that opened the noise."""
    together, found = threading.Barrier(_THREADS + 1), []

    def draw() -> None:
        together.wait(_PATIENCE)
        found.append(drawn(noise))

    threads = [threading.Thread(target=draw) for _ in range(_THREADS)]
    for thread in threads:
        thread.start()
    draw()
    for thread in threads:
        thread.join()
    return found
