"""lockstorm-client/1 for Python: an adapter names a class with acquire and release, and this talks.

    class Locks:
        lost = (SomeError,)      # exceptions that say: the lock was not held any more
        outage = (OtherError,)   # exceptions that say: servers are missing
        def __init__(self, start): ...               # start is the first message, as a dict
        def acquire(self, key, wait): ...            # wait in seconds; a lock, or None or False while somebody else holds it
        def release(self, lock): ...                 # False or 0: it was not held any more
        def extend(self, lock): ...                  # only if it `can` "extend"; False or 0: it was not held any more
        def until(self, lock): ...                   # only if it `can` "validity": nanoseconds of time.monotonic_ns()

A library that hears that a lock is lost, and can tell "lost", calls lost(lock) of this module.

    serve(Locks, "name of the library", "its version", can=["extend"])

Whatever the library prints goes to stderr.
"""
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

# Only answers may go where stdout goes.
_out = os.fdopen(os.dup(1), "wb", buffering=0)
os.dup2(2, 1)
_turn = threading.Lock()
_held = {}


def say(**answer):
    """Says something to Lockstorm."""
    line = json.dumps(answer).encode() + b"\n"
    with _turn:
        _out.write(line)


def lost(lock):
    """Tells that a lock is lost: one that `acquire` has returned."""
    for of, one in list(_held.items()):
        if one is lock:
            say(event="lost", of=of)


def serve(make, name, version, can=(), nodes=None):
    """Talks until Lockstorm is done. `nodes`: how many of the nodes a lock is on, if not all."""
    start = json.loads(sys.stdin.readline())
    locks = make(start)
    hello = {} if nodes is None or start["cluster"] else {"nodes": nodes}
    say(op="started", name=name, version=version, language="python", can=list(can), **hello)
    # As many as ask for a lock, and as many again for those who release and extend meanwhile.
    with ThreadPoolExecutor(start["workers"]) as waits, ThreadPoolExecutor(start["workers"]) as acts:
        for line in sys.stdin:
            order = json.loads(line)
            if order["op"] == "stop":
                break
            if order["op"] == "clock":
                say(id=order["id"], t=time.monotonic_ns())
            elif order["op"] == "acquire":
                waits.submit(_answer, locks, order)
            else:
                acts.submit(_answer, locks, order)
        # What is still waiting for a lock does not keep us.
        os._exit(0)


def _answer(locks, order):
    done = {"id": order["id"]}
    try:
        done.update(_obey(locks, order))
    except getattr(locks, "lost", ()):
        done["is"] = "lost"
    except getattr(locks, "outage", ()):
        done["is"] = "outage" if order["op"] == "acquire" else "unknown"
    except Exception as error:  # What a library raises is its own choice; Lockstorm shows it.
        done.update({"is": "error", "definite": False, "text": f"{type(error).__name__}: {error}"})
    say(**done)


def _obey(locks, order):
    if order["op"] == "acquire":
        lock = locks.acquire(order["key"], order["wait_ms"] / 1000)
        if lock is None or lock is False:
            return {"is": "busy"}
        _held[order["id"]] = lock
        return {"is": "held", **_promise(locks, lock)}
    if order["op"] == "extend":
        lock = _held.get(order["of"])
        if lock is None or _is_no(locks.extend(lock)):
            return {"is": "lost"}
        return {"is": "extended", **_promise(locks, lock)}
    lock = _held.pop(order["of"])
    return {"is": "lost" if _is_no(locks.release(lock)) else "released"}


def _is_no(answer):
    # Scripts answer with 0 as often as with False. Who answers nothing has done it.
    return answer is False or answer == 0


def _promise(locks, lock):
    return {"until": int(locks.until(lock))} if hasattr(locks, "until") else {}
