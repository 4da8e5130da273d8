"""What a lock on one node, and one on most of three, do when a node dies or hangs."""

import time

import pytest
import redis


def connect(url):
    return redis.Redis.from_url(url, socket_timeout=0.5)


def lock(urls, owner):
    """Whether most of these nodes give the lock to this owner."""
    votes = 0
    for url in urls:
        try:
            votes += bool(connect(url).set("lock", owner, nx=True, px=60_000))
        except redis.RedisError:
            pass
    return votes > len(urls) // 2


@pytest.fixture(autouse=True)
def no_keys_are_left(lab):
    for url in lab.urls:
        connect(url).flushall()


def test_a_lock_on_one_node_is_forgotten_with_it(lab):
    assert lock(lab.urls[:1], "one")
    lab.bounce(1)
    assert lock(lab.urls[:1], "other"), "two have it"


def test_a_lock_on_most_nodes_outlives_one(lab):
    assert lock(lab.urls, "one")
    lab.kill(1)
    assert not lock(lab.urls, "other")


def test_a_node_that_hangs_says_nothing_until_it_goes_on(lab):
    before = time.monotonic_ns() // 1000
    lab.pause(1)
    with pytest.raises(redis.TimeoutError):
        connect(lab.urls[0]).ping()
    lab.restore(1)
    assert connect(lab.urls[0]).ping()
    assert [entry["action"] for entry in lab.log() if entry["ordered_us"] > before] == ["pause", "resume"]
