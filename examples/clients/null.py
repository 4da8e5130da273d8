"""No lock at all: it says yes to everything, in batches. What is measured with it is the cost of the pipe; as a lock it must fail."""
import json
import os

WORDS = {"acquire": "held", "extend": "extended", "release": "released"}
rest = b""
while chunk := os.read(0, 1 << 16):
    *lines, rest = (rest + chunk).split(b"\n")
    answers = []
    for order in map(json.loads, lines):
        if order["op"] == "start":
            answers.append({"op": "started", "name": "null", "version": "0", "language": "python", "can": ["extend"]})
        elif order["op"] in WORDS:
            answers.append({"id": order["id"], "is": WORDS[order["op"]]})
    os.write(1, "".join(json.dumps(answer) + "\n" for answer in answers).encode())
