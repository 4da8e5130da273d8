"""python-redis-lock: one node; it counts in seconds, and can renew by itself."""
from importlib.metadata import version

from redis.exceptions import ConnectionError
from redis.sentinel import MasterNotFoundError
from redis_lock import Lock, NotAcquired

from lockstorm_client import serve
from nodes import connect


class Locks:
    lost = (NotAcquired,)
    outage = (ConnectionError, MasterNotFoundError)

    def __init__(self, start):
        self.redis, self.renew = connect(start), start["renew"]
        self.ttl = max(1, start["ttl_ms"] // 1000)

    def acquire(self, key, wait):
        lock = Lock(self.redis, key, expire=self.ttl, auto_renewal=self.renew)
        # It refuses to wait for longer than the TTL unless it renews, and knows whole seconds only.
        seconds = int(wait) if self.renew else min(int(wait), self.ttl)
        got = lock.acquire(blocking=True, timeout=seconds) if seconds else lock.acquire(blocking=False)
        return lock if got else None

    def release(self, lock):
        lock.release()


if __name__ == "__main__":
    serve(Locks, "python-redis-lock", version("python-redis-lock"), can=["renew"], nodes=1)
