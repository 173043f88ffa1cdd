#!/usr/bin/env python3
"""A worker in plain Python: runs the actions below for a Stepfast server. Usage: worker.py URL [KEY]"""
import json, sys, threading, time, urllib.error, urllib.request
URL, KEY = sys.argv[1].rstrip("/"), (sys.argv[2:] or [None])[0]
held, received, session = set(), 0, None  # (step, attempt) in our hands; what arrived last; who we are
lock = threading.Lock()

def greet(arguments):
    return {"hello": arguments.get("name", "world")}


def record(arguments):  # safe to run twice: a line that is there is not written again
    with lock, open(arguments["file"], "a+") as file:
        file.seek(0)
        arguments["line"] + "\n" in file or file.write(arguments["line"] + "\n")


ACTIONS = {"greet": greet, "record": record}
NoSession = type("NoSession", (Exception,), {})


def post(call, body, tries=10**9):
    data = json.dumps(body).encode()
    headers = {"Content-Type": "application/json", **({"Authorization": "Bearer " + KEY} if KEY else {})}
    for _ in range(tries):
        try:
            request = urllib.request.Request(f"{URL}/v1/worker/{call}", data, headers)
            with urllib.request.urlopen(request, timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            text = refused.read().decode(errors="replace")
            if '"no_session"' in text:
                raise NoSession
            if refused.code < 500:
                raise RuntimeError(f"{call}: {text}")
        except (OSError, ValueError):
            pass  # the server is away; what is held stays ours until the lease ends
        time.sleep(0.2)


def run(mine, claim):
    item = {"step": claim["step"], "attempt": claim["attempt"]}
    try:
        item |= {"outcome": "complete", "response": ACTIONS[claim["action"]](claim["arguments"])}
    except Exception as error:
        item |= {"outcome": "retry", "message": repr(error)}
    try:
        post("report", {"session": mine, "reports": [item]})
    except NoSession:
        pass  # it was lost, and somebody else runs it
    finally:
        with lock:
            held.discard((claim["step"], claim["attempt"]))


def beat():
    while True:
        time.sleep(4)
        with lock:
            body = {"session": session, "received": received, "held": [{"step": s, "attempt": a} for s, a in held]}
        try:
            session and post("heartbeat", body, tries=1)  # an old one says too little: the next is better
        except NoSession:
            pass  # the next claim finds out


threading.Thread(target=beat, daemon=True).start()
while True:
    try:
        page = post("claim", {"session": session, "actions": list(ACTIONS), "capacity": 8, "received": received, "wait_ms": 5000})
    except NoSession:
        session, received = None, 0
        continue
    with lock:
        session, received = page["session"], page["number"]
        new = [c for c in page["claims"] if (c["step"], c["attempt"]) not in held]
        held.update((c["step"], c["attempt"]) for c in new)
    for claim in new:
        threading.Thread(target=run, args=(session, claim), daemon=True).start()
