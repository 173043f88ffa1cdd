#!/usr/bin/env python3
"""A bank with tables of its own, and the worker that tells of them. Usage: bank.py URL, bank.py credit ID, bank.py state TABLE ID"""
import json, sqlite3, sys, urllib.request
from datetime import datetime, timedelta, timezone

TABLES = ("payments", "allocations", "bonuses")
db = sqlite3.connect("bank.db", isolation_level=None)

def ago(**span):
    return (datetime.now(timezone.utc) - timedelta(**span)).isoformat()

def open_bank():  # one row of each sort that is stuck, and one that only looks like it
    for table in TABLES:
        db.execute(f"create table if not exists {table} (id integer primary key, user text, state text, created_at text, updated_at text)")
    if db.execute("select count(*) from payments").fetchone()[0] == 0:
        rows = [("payments", 1, "u-1", "pending", ago(hours=25)), ("payments", 2, "u-2", "pending", ago(hours=23)),
                ("allocations", 3, "u-3", "processing", ago(minutes=31)), ("allocations", 4, "u-4", "processing", ago(minutes=29)),
                ("bonuses", 5, "u-5", "calculated", ago(hours=3)), ("bonuses", 6, "u-6", "calculated", ago(hours=1))]
        for table, key, user, state, at in rows:
            db.execute(f"insert into {table} values (?, ?, ?, ?, ?)", (key, user, state, at, at))

def stuck(asked):
    table, clock = asked["table"], asked["clock"]
    assert table in TABLES and clock in ("created_at", "updated_at")
    rows = db.execute(f"select id, user, {clock} from {table} where state = ? order by {clock} limit 100", (asked["state"],))
    return [{"entity_type": table[:-1] if table != "bonuses" else "bonus", "entity_id": key, "user": user, "since": since,
             "message": f"it is {asked['state']} since {since}"} for key, user, since in rows]

def set_right(asked):  # fenced by the state it was in: a second call changes nothing
    told = asked["arguments"]
    assert told["table"] in TABLES
    db.execute(f"update {told['table']} set state = ? where id = ? and state in ('pending', 'processing')", (told["to"], asked["entity_id"]))
    return {"state": told["to"]}

ACTIONS = {"bank.stuck": stuck, "bank.set_right": set_right}

def post(url, call, body):
    request = urllib.request.Request(f"{url}/v1/worker/{call}", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)

def work(url):
    session, received = None, 0
    while True:
        page = post(url, "claim", {"session": session, "actions": list(ACTIONS), "capacity": 8, "received": received, "wait_ms": 1000})
        session, received = page["session"], page["number"]
        for claim in page["claims"]:
            said = {"step": claim["step"], "attempt": claim["attempt"], "outcome": "complete", "response": ACTIONS[claim["action"]](claim["arguments"])}
            post(url, "report", {"session": session, "reports": [said]})

open_bank()
match sys.argv[1:]:
    case ["credit", key]:
        db.execute("update bonuses set state = 'credited' where id = ?", (key,))
    case ["state", table, key]:
        assert table in TABLES
        print(db.execute(f"select state from {table} where id = ?", (key,)).fetchone()[0])
    case [url]:
        work(url)
    case _:
        sys.exit(__doc__)
