"""Build the wheel, install it alone into a new environment, and import it there.

It knows what a user of the published wheel gets. It must never see the source tree: every import runs in Python's
isolated mode, in an environment that holds the wheel and what the wheel itself asks for, and none of the extras.
"""

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

IMPORT_EVERYTHING = """
import importlib, pathlib, pkgutil, sys
import perdure, perdure.kernel

home = pathlib.Path(perdure.__file__)
assert home.is_relative_to(sys.prefix), f"perdure came from {home}, outside the new environment"
names = [module.name for module in pkgutil.walk_packages(perdure.kernel.__path__, "perdure.kernel.")]
for name in names:
    importlib.import_module(name)
for name in perdure.__all__:
    getattr(perdure, name)
print(f"perdure {perdure.__version__}: {len(names)} kernel modules and {len(perdure.__all__)} public names")
"""


def main() -> None:
    """Check the wheel; exit with 1 and a reason if it is not fit to publish."""
    with tempfile.TemporaryDirectory(prefix="perdure-wheel-") as scratch:
        wheel = build(Path(scratch) / "dist")
        shipped = check_contents(wheel)
        python = install(wheel, Path(scratch) / "venv")
        print(run(python, "-I", "-c", IMPORT_EVERYTHING), end="")
        if "perdure/cli/__init__.py" in shipped:
            run(python.parent / "perdure", "--help")
    print(f"{wheel.name} stands alone")


def build(into: Path) -> Path:
    """Build the wheel with the installed backend, without a network; return its path."""
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", into, ROOT)
    return next(into.glob("*.whl"))


def check_contents(wheel: Path) -> set[str]:
    """Return the names in the wheel; exit if one is missing or does not belong there."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    if "perdure/py.typed" not in names:
        sys.exit(f"{wheel.name} has no perdure/py.typed: type checkers would ignore its types")
    strangers = sorted(name for name in names if not name.startswith(("perdure/", "perdure-")))
    if strangers:
        sys.exit(f"{wheel.name} holds {strangers}, which are no part of the package")
    return names


def install(wheel: Path, into: Path) -> Path:
    """Install the wheel into a new environment; return the Python there."""
    # Without pip it is there at once; our own pip installs into it.
    venv.create(into, with_pip=False, symlinks=True)
    python = into / "bin" / "python"
    run(sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check", wheel)
    return python


def run(*command: str | Path) -> str:
    """Run a command and return its output; exit with all it said if it fails."""
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd="/", check=False)
    if result.returncode:
        sys.exit(f"{' '.join(str(part) for part in command[:4])} failed:\n{result.stdout}{result.stderr}")
    return result.stdout


if __name__ == "__main__":
    main()
