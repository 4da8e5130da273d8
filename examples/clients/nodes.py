"""redis-py's clients for the nodes that Lockstorm names, with what that library does by default."""
import redis
from redis.sentinel import Sentinel


def connect(start):
    """The client for one node, or for the master that the Sentinels name now."""
    if not start["sentinels"]:
        return redis.Redis.from_url(start["nodes"][0])
    node = redis.ConnectionPool.from_url(start["nodes"][0]).connection_kwargs
    places = [redis.ConnectionPool.from_url(url).connection_kwargs for url in start["sentinels"]]
    secret = {"password": node.get("password")}
    sentinel = Sentinel([(at["host"], at["port"]) for at in places], sentinel_kwargs=secret, **secret)
    return sentinel.master_for(start["master"])


def connect_all(start):
    """A client for each node."""
    return [redis.Redis.from_url(url) for url in start["nodes"]]
