"""redlock-py: Redlock over all nodes, one after the other; it says how long a lock is valid, and can't extend one."""
import time
from importlib.metadata import version

from redlock import MultipleRedlockException, Redlock

from lockstorm_client import serve
from nodes import connect_all


class Locks:
    outage = (MultipleRedlockException,)

    def __init__(self, start):
        self.nodes, self.ttl = connect_all(start), start["ttl_ms"]

    def acquire(self, key, wait):
        # Its own delay between tries is 200 ms.
        redlock = Redlock(self.nodes, retry_count=1 + int(wait / 0.2))
        lock = redlock.lock(key, self.ttl)
        # Its validity counts from its answer.
        return (redlock, lock, time.monotonic_ns() + lock.validity * 1_000_000) if lock else None

    def until(self, held):
        return held[2]

    def release(self, held):
        redlock, lock, _ = held
        redlock.unlock(lock)


if __name__ == "__main__":
    serve(Locks, "redlock-py", version("redlock-py"), can=["validity"])
