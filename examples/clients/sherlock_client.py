"""sherlock's RedisLock: one node; it counts in seconds."""
from importlib.metadata import version

from redis.exceptions import ConnectionError
from redis.sentinel import MasterNotFoundError
from sherlock import RedisLock
from sherlock.lock import LockException, LockTimeoutException

from lockstorm_client import serve
from nodes import connect


class Locks:
    lost = (LockException,)
    outage = (ConnectionError, MasterNotFoundError)

    def __init__(self, start):
        self.redis, self.ttl = connect(start), max(1, start["ttl_ms"] // 1000)

    def acquire(self, key, wait):
        lock = RedisLock(key, client=self.redis, expire=self.ttl, timeout=wait, retry_interval=0.05)
        try:
            return lock if lock.acquire(blocking=wait > 0) else None
        except LockTimeoutException:
            return None

    def extend(self, lock):
        return lock.renew()

    def release(self, lock):
        lock.release()


if __name__ == "__main__":
    serve(Locks, "sherlock", version("sherlock"), can=["extend"], nodes=1)
