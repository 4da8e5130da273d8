"""tooz with its Redis driver, OpenStack's coordination: one node; it counts in seconds."""
from importlib.metadata import version

from tooz import ToozError, coordination
from tooz.coordination import ToozConnectionError

from lockstorm_client import serve


class Locks:
    outage = (ToozConnectionError,)

    def __init__(self, start):
        ttl, sentinels = max(1, start["ttl_ms"] // 1000), ""
        url = start["nodes"][0]
        if start["sentinels"]:
            first, *more = start["sentinels"]
            host = [at.split("@")[-1] for at in more]
            url = f"{first}?sentinel={start['master']}" + "".join(f"&sentinel_fallback={at}" for at in host)
        url += ("&" if "?" in url else "?") + f"lock_timeout={ttl}"
        self.coordinator = coordination.get_coordinator(url, b"lockstorm")
        self.coordinator.start()

    def acquire(self, key, wait):
        lock = self.coordinator.get_lock(key.encode())
        return lock if lock.acquire(blocking=wait or False) else None

    def extend(self, lock):
        return lock.heartbeat()

    def release(self, lock):
        return lock.release()


if __name__ == "__main__":
    serve(Locks, "tooz", version("tooz"), can=["extend"], nodes=1)
