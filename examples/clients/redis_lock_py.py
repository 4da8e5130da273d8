"""redis-lock-py's RedisLock, which waits by PubSub: one node; it counts in seconds."""
from importlib.metadata import version

from redis.exceptions import ConnectionError
from redis.sentinel import MasterNotFoundError
from redis_lock import RedisLock
from redis_lock.exceptions import ExtendFailedError, LockNotOwnedError
from redis_lock.spin_lock import RedisSpinLock

from lockstorm_client import serve
from nodes import connect


class Locks:
    lost = (ExtendFailedError, LockNotOwnedError)
    outage = (ConnectionError, MasterNotFoundError)

    def __init__(self, start):
        self.redis, self.ttl = connect(start), max(1, start["ttl_ms"] // 1000)

    def acquire(self, key, wait):
        if wait == 0:
            # RedisLock always waits for a message, and the other kind of this library takes the same key.
            lock = RedisSpinLock(self.redis, key, blocking_timeout=1, expire_timeout=self.ttl)
            return lock if lock.acquire(blocking=False) else None
        lock = RedisLock(self.redis, key, blocking_timeout=wait, expire_timeout=self.ttl)
        return lock if lock.acquire() else None

    def extend(self, lock):
        # In whole seconds, on top of what is left.
        lock.extend(1)

    def release(self, lock):
        lock.release()


if __name__ == "__main__":
    serve(Locks, "redis-lock-py", version("redis-lock-py"), can=["extend"], nodes=1)
