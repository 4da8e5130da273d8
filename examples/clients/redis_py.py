"""redis-py's Lock: one node, or the master that Sentinels name."""
import redis
from redis.exceptions import ConnectionError, LockError
from redis.sentinel import MasterNotFoundError

from lockstorm_client import serve
from nodes import connect


class Locks:
    lost = (LockError,)
    outage = (ConnectionError, MasterNotFoundError)

    def __init__(self, start):
        self.redis, self.ttl = connect(start), start["ttl_ms"] / 1000

    def acquire(self, key, wait):
        # Another thread may release it.
        lock = self.redis.lock(key, timeout=self.ttl, thread_local=False)
        return lock if lock.acquire(blocking=wait > 0, blocking_timeout=wait or None) else None

    def extend(self, lock):
        return lock.reacquire()

    def release(self, lock):
        lock.release()


if __name__ == "__main__":
    serve(Locks, "redis-py", redis.__version__, can=["extend"], nodes=1)
