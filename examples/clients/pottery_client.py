"""pottery's Redlock: all nodes at once; it extends a lock three times unless it is told otherwise."""
from importlib.metadata import version

from pottery import Redlock
from pottery.exceptions import ExtendUnlockedLock, QuorumIsImpossible, ReleaseUnlockedLock

from lockstorm_client import serve
from nodes import connect_all


class Locks:
    lost = (ExtendUnlockedLock, ReleaseUnlockedLock)
    outage = (QuorumIsImpossible,)

    def __init__(self, start):
        self.nodes, self.ttl = set(connect_all(start)), start["ttl_ms"] / 1000

    def acquire(self, key, wait):
        lock = Redlock(
            key=key, masters=self.nodes, auto_release_time=self.ttl, num_extensions=1000, raise_on_redis_errors=True
        )
        got = lock.acquire(timeout=wait) if wait else lock.acquire(blocking=False)
        return lock if got else None

    def extend(self, lock):
        lock.extend()

    def release(self, lock):
        lock.release()


if __name__ == "__main__":
    serve(Locks, "pottery", version("pottery"), can=["extend"])
