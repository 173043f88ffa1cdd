#!/usr/bin/env python3
"""A worker in plain Python: runs the actions below for a Stepfast server. Usage: worker.py URL [KEY]"""
import json, sys, threading, time, urllib.error, urllib.request
URL, KEY = sys.argv[1].rstrip("/"), (sys.argv[2:] or [None])[0]
lock, held, received, session = threading.Lock(), set(), 0, None  # (step, attempt) in our hands; what arrived last; who we are

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
            with urllib.request.urlopen(urllib.request.Request(f"{URL}/v1/worker/{call}", data, headers), timeout=30) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as refused:
            if refused.code < 500:
                text = refused.read().decode(errors="replace")
                raise (NoSession if '"no_session"' in text else RuntimeError)(f"{call}: {text}")
        except (OSError, ValueError):
            pass  # the server is away; what is held stays ours until the lease ends
        time.sleep(0.2)

def report(mine, claim, said):
    said |= {"step": claim["step"], "attempt": claim["attempt"]}
    while (said["step"], said["attempt"]) in held:  # what is told lost is somebody else's to report
        if answered := post("report", {"session": mine, "reports": [said]}, tries=1):
            return answered["answers"][0]

def run(mine, claim):
    try:
        said = {"outcome": "complete", "response": ACTIONS[claim["action"]](claim["arguments"])}
    except Exception as error:
        said = {"outcome": "retry", "message": repr(error)}
    try:
        answer = report(mine, claim, said)
        if answer and answer["answer"] == "refused":  # it never will be taken, so the step fails and says why
            print(claim["step"], "was refused:", answer["detail"], file=sys.stderr)
            report(mine, claim, {"outcome": "fail", "message": "its report was refused: " + answer["detail"]})
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
        try:  # once, for an old one says too little and the next is better
            told = session and post("heartbeat", body, tries=1)
        except NoSession:
            continue  # the next claim finds out
        with lock:
            held.difference_update((lost["step"], lost["attempt"]) for lost in (told or {}).get("lost", []))

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
