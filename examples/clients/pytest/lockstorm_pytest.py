"""A lab of real Redis servers as a pytest fixture, which tests can break: put this file beside them, and into conftest.py
`from lockstorm_pytest import *`. LOCKSTORM names the program if it is not on PATH. The lab has a TMPDIR of its own.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import time

import pytest

__all__ = ["lab", "lockstorm_lab", "lockstorm_options"]
PROGRAM = os.environ.get("LOCKSTORM", "lockstorm")


def _end_with_parent():
    """Whoever kills pytest ends the lab, too; PR_SET_PDEATHSIG is 1."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGTERM)


class Lab:
    def __init__(self, tmpdir, options):
        self._environment = {**os.environ, "TMPDIR": str(tmpdir)}
        command = [PROGRAM, "lab", "up", "--foreground", "--port", "0", *map(str, options)]
        self._up = subprocess.Popen(
            command, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, preexec_fn=_end_with_parent
        )
        while subprocess.run([PROGRAM, "lab", "status"], env=self._environment, capture_output=True).returncode == 3:
            if self._up.poll() is not None:
                raise RuntimeError(f"{' '.join(command[1:])}: {self._up.stderr.read().strip()}")
            time.sleep(0.1)
        urls = json.loads(self("status", "--json"))["urls"]
        with_password = lambda file, plain: open(file).read().strip().split(",") if file else plain
        self.urls = with_password(urls["nodes_file"], urls["nodes"])
        self.sentinel_urls = with_password(urls["sentinels_file"], urls["sentinels"])

    def __call__(self, *words):
        """Runs `lockstorm lab WORDS` and returns what it prints; it returns once the effect is verified."""
        command = [PROGRAM, "lab", *map(str, words)]
        done = subprocess.run(command, env=self._environment, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command[1:])}: exit code {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def __getattr__(self, verb):
        """lab.kill(1), lab.pause(1, 2), lab.lag(1, delay="50ms"), lab.restore(): `lockstorm lab VERB`."""
        if verb.startswith("_"):
            raise AttributeError(verb)
        words = lambda options: [word for key, value in options.items() for word in ("--" + key.rstrip("_"), value)]
        return lambda *on, **options: self(verb, *(on or ("all",)), *words(options))

    def log(self):
        """What was done; `effect_us` is by the clock of time.monotonic_ns(), in microseconds."""
        return [json.loads(line) for line in self("log", "--json").splitlines()]


@pytest.fixture(scope="session")
def lockstorm_options():
    """Options of `lockstorm lab up`: override this fixture for other ones."""
    return []


@pytest.fixture(scope="session")
def lockstorm_lab(tmp_path_factory, lockstorm_options):
    yield (lab := Lab(tmp_path_factory.mktemp("lockstorm"), lockstorm_options))
    lab("down")


@pytest.fixture
def lab(lockstorm_lab):
    """The lab, with everything in order before and after the test."""
    yield lockstorm_lab
    lockstorm_lab.restore()
