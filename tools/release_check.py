"""Build the package, and try it in fresh environments as somebody would who has only the package: `make release-check`.

The wheel is installed on every Python at hand with the newest versions of what it needs, on the oldest Python also with
the oldest versions that pyproject.toml allows; the sdist once. Each environment runs `dimfree doctor` and releases a
mean from an array and from a CSV. The first and the last of them also run the tests of the accounting. Only what was
found on this machine is tried, and the last lines say what that was. Needs build, twine, uv and a network.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
CORE = ("numpy", "scipy", "scikit-learn", "opendp", "typer", "rich")
TRIES = 3  # one release in hundreds is refused by design
ARRAY = f"""
import numpy as np
import dimfree
X = np.random.default_rng(0).normal(size=(2000, 20))
np.savetxt("people.csv", X, delimiter=",")
releases = (dimfree.release_mean(X, epsilon=1.0, delta=1e-6) for _ in range({TRIES}))
mean = next(each.mean for each in releases if not each.refused)
assert mean.shape == (20,) and abs(mean).max() < 1, "the mean is far off"
"""


@dataclass(frozen=True)
class Trial:
    """One fresh environment: which Python, which file, and which versions of what it needs."""

    python: Path
    package: Path
    oldest: bool = False  # the oldest versions that pyproject.toml allows, instead of the newest
    tests: bool = False


def main() -> None:
    pythons = at_hand()
    if not pythons:
        sys.exit(f"None of Python {', '.join(PYTHONS)} was found.")
    sdist, wheel = built()
    print("\n".join(attempt(trial) for trial in trials(list(pythons.values()), sdist, wheel)))
    print("not at hand, not tried:", ", ".join(name for name in PYTHONS if name not in pythons) or "none")


def at_hand() -> dict[str, Path]:
    """Version → an interpreter that answers with it, from PATH or from pyenv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    candidates = {name: [f"python{name}", *map(str, pyenv.glob(f"{name}.*/bin/python"))] for name in PYTHONS}
    found = {name: next(filter(None, map(interpreter, paths)), "") for name, paths in candidates.items()}
    return {name: Path(path) for name, path in found.items() if path}


def interpreter(path: str) -> str:
    """The whole path of an interpreter; nothing where it does not start, as a shim without its version does not."""
    return call(path, "-I", "-c", "import sys; print(sys.executable)", check=False) if shutil.which(path) else ""


def built() -> tuple[Path, Path]:
    """sdist and wheel, the wheel made from the sdist, in dist/; both texts are what a package index takes."""
    for old in [*DIST.glob("dimfree-*.tar.gz"), *DIST.glob("dimfree-*.whl")]:
        old.unlink()
    call(sys.executable, "-m", "build", "--outdir", str(DIST), str(ROOT))
    (sdist,), (wheel,) = DIST.glob("dimfree-*.tar.gz"), DIST.glob("dimfree-*.whl")
    call(sys.executable, "-m", "twine", "check", "--strict", str(sdist), str(wheel))
    return sdist, wheel


def trials(pythons: list[Path], sdist: Path, wheel: Path) -> list[Trial]:
    newest = [Trial(python, wheel, tests=python == pythons[-1]) for python in pythons]
    return [Trial(pythons[0], wheel, oldest=True, tests=True), Trial(pythons[0], sdist), *newest]


def attempt(trial: Trial) -> str:
    """Install, check, and say with which versions."""
    with TemporaryDirectory() as folder:
        home = Path(folder)
        uv("venv", "--python", str(trial.python), str(home / "venv"))
        python, command = executable(home, "python"), executable(home, "dimfree")
        install = ("pip", "install", "--python", python)
        if trial.oldest:  # first, and what is there is kept
            uv(*install, "--resolution", "lowest-direct", "-r", str(ROOT / "pyproject.toml"))
        uv(*install, str(trial.package))
        call(command, "doctor", cwd=home)
        call(command, "mean", "--help", cwd=home)
        call(python, "-I", "-c", ARRAY, cwd=home)
        release_csv(command, home)
        if trial.tests:
            uv(*install, "pytest", "hypothesis", "dp-accounting")
            call(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/accounting", cwd=ROOT)
        return f"fine: {trial.package.name}, {versions(python)}" + (", tests/accounting" if trial.tests else "")


def release_csv(command: str, home: Path) -> None:
    words = [command, "mean", "people.csv", "--epsilon", "1", "--delta", "1e-6", "-o", "mean.csv"]
    codes = (subprocess.run(words, cwd=home, capture_output=True, env=clean()).returncode for _ in range(TRIES))
    if next((code for code in codes if code != 3), 3) != 0 or not (home / "mean.csv").exists():  # 3: refused
        sys.exit("`dimfree mean people.csv` made no release.")


def versions(python: str) -> str:
    """The versions in an environment, at the end: the tests may have changed none of them."""
    said = "; print(*(f'{name} {version(name)}' for name in " + repr(CORE) + "), sep=', ')"
    return call(python, "-c", "import platform; from importlib.metadata import version; "
                "print('Python', platform.python_version(), end=', ')" + said)  # fmt: skip


def executable(home: Path, name: str) -> str:
    return str(home / "venv" / ("Scripts" if os.name == "nt" else "bin") / name)


def uv(*words: str, check: bool = True) -> str:
    here = str(Path(sys.executable).parent)
    return call(shutil.which("uv", path=here) or "uv", "--quiet", *words, check=check)


def call(*words: str, cwd: Path | None = None, check: bool = True) -> str:
    """What a command prints; where it fails, its whole output and an end."""
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, env=clean())
    if check and done.returncode:
        sys.exit(f"failed: {' '.join(words)}\n{done.stdout}{done.stderr}")
    return done.stdout.strip() if done.returncode == 0 else ""


def clean() -> dict[str, str]:
    """The environment, without what would let the checkout in."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}


if __name__ == "__main__":
    main()
