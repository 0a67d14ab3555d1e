#!/usr/bin/env python3
"""A receiver of signed webhooks whose inbox is accepted in the transaction of the effect, on SQLite or PostgreSQL.

    erp.py prepare             makes its tables; it knows the customers bia and rui
    erp.py customer NAME       knows one more
    erp.py serve HOST:PORT     receives; the secret is in the file hook.secret
    erp.py orders              what it booked

While there is a file `mute` it does its work and hangs up without an answer, as a program does that dies at the wrong moment.
"""
import base64
import hashlib
import hmac
import http.server
import json
import os
import re
import sys
import time
import urllib.parse

STORE = os.environ.get("TRILHA_STORE", "sqlite:trilha.db")
SECONDS_MAX = 300  # how old a signature may be
BODY_MAX = 1 << 20
TABLES = ("CREATE TABLE {erp}customers (name text PRIMARY KEY)", "INSERT INTO {erp}customers VALUES ('bia'), ('rui')",
          "CREATE TABLE {erp}orders (id text PRIMARY KEY, customer text NOT NULL, total text NOT NULL)")


class Refused(Exception):
    """This message cannot be booked, however often it comes."""


# --- its database: the same statements, spelled as each driver wants them ------------------------------------------------

class Sqlite:
    def __init__(self):
        import sqlite3  # pylint: disable=import-outside-toplevel
        self.database = sqlite3.connect(STORE.removeprefix("sqlite:"), timeout=30, isolation_level="IMMEDIATE")

    def run(self, statement, *values):
        return self.database.execute(statement.replace("{erp}", "erp_").replace("%s", "?"), values)

    def accept(self, tenant, message, digest):
        """What inbox_accept() does on PostgreSQL."""
        now = time.time_ns() // 1000
        if self.run("INSERT INTO {erp}inbox_message (tenant_id, consumer, message_id, payload_sha256, accepted_us) VALUES (%s, 'erp', %s, %s, %s) "
                    "ON CONFLICT DO NOTHING", tenant, message, digest, now).rowcount == 1:
            return "new"
        there, = self.run("SELECT payload_sha256 FROM {erp}inbox_message WHERE tenant_id = %s AND consumer = 'erp' AND message_id = %s",
                          tenant, message).fetchone()
        outcome = "duplicate" if there == digest else "conflict"
        self.run("INSERT INTO {erp}inbox_repeat (tenant_id, consumer, message_id, outcome, payload_sha256, at_us) VALUES (%s, 'erp', %s, %s, %s, %s)",
                 tenant, message, outcome, digest, now)
        return outcome


class Postgresql:
    def __init__(self):
        import psycopg2  # pylint: disable=import-outside-toplevel
        self.database = psycopg2.connect(STORE)

    def run(self, statement, *values):
        cursor = self.database.cursor()
        cursor.execute(statement.replace("{erp}", "erp."), values)
        return cursor

    def accept(self, tenant, message, digest):
        return self.run("SELECT outcome FROM {erp}inbox_accept(%s, 'erp', %s, %s)", tenant, message, digest).fetchone()[0]


def connect():
    return Sqlite() if STORE.startswith("sqlite:") else Postgresql()


# --- the effect ------------------------------------------------------------------------------------------------------

def book(erp, order):
    if erp.run("SELECT 1 FROM {erp}customers WHERE name = %s", order["customer"]).fetchone() is None:
        raise Refused("no such customer")
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", order["total"]):
        raise Refused("the total is no amount")
    erp.run("INSERT INTO {erp}orders VALUES (%s, %s, %s)", order["order"], order["customer"], order["total"])


def receive(tenant, message, body):
    """(status, why). What is accepted and what it causes commit together, or neither does."""
    order = json.loads(body)
    erp = connect()
    try:
        with erp.database:
            outcome = erp.accept(tenant, message, hashlib.sha256(body).hexdigest())
            if outcome == "new":
                book(erp, order)
        return {"new": (200, "booked"), "duplicate": (200, "booked before"), "conflict": (422, "came before with other content")}[outcome]
    except Refused as why:
        return 422, str(why)
    finally:
        erp.database.close()


# --- HTTP ------------------------------------------------------------------------------------------------------------

def signed(headers, body, secret):
    """Standard Webhooks: one of the signatures is made with our secret, and lately."""
    text = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    right = "v1," + base64.b64encode(hmac.new(secret, text, hashlib.sha256).digest()).decode()
    return (any(hmac.compare_digest(right.encode(), each.encode()) for each in (headers["webhook-signature"] or "").split())
            and abs(time.time() - int(headers["webhook-timestamp"])) <= SECONDS_MAX)


class Hook(http.server.BaseHTTPRequestHandler):
    secret = b""

    def do_POST(self):  # pylint: disable=invalid-name
        size = int(self.headers["content-length"] or 0)
        body = self.rfile.read(size) if size <= BODY_MAX else b""
        if not signed(self.headers, body, self.secret):
            self.answer(401, "not signed with our secret")
            return
        status, why = receive(urllib.parse.unquote(self.headers["ce-tenantid"]), self.headers["webhook-id"], body)
        if os.path.exists("mute") and status == 200:
            print("---", json.loads(body)["order"], why + ", and no answer", flush=True)
            return
        print(status, json.loads(body)["order"], why, flush=True)
        self.answer(status, why)

    def answer(self, status, why):
        self.send_response(status)
        self.send_header("content-type", "text/plain")
        self.end_headers()
        self.wfile.write(why.encode())

    def log_message(self, *arguments):  # pylint: disable=arguments-differ
        pass


def serve(address):
    with open("hook.secret", encoding="ascii") as file:
        Hook.secret = base64.b64decode(file.read().strip().removeprefix("whsec_"))
    host, port = address.rsplit(":", 1)
    http.server.ThreadingHTTPServer((host, int(port)), Hook).serve_forever()


def main(what, arguments):
    if what == "serve":
        serve(*arguments)
    erp = connect()
    with erp.database:
        if what == "prepare":
            if isinstance(erp, Postgresql):
                erp.run("CREATE SCHEMA erp")
            for statement in TABLES:
                erp.run(statement)
        elif what == "customer":
            erp.run("INSERT INTO {erp}customers VALUES (%s)", *arguments)
        elif what == "orders":
            for row in erp.run("SELECT id, customer, total FROM {erp}orders ORDER BY id").fetchall():
                print(*row)


if __name__ == "__main__":
    if sys.argv[1:2] not in (["prepare"], ["customer"], ["serve"], ["orders"]):
        sys.exit(__doc__)
    try:
        main(sys.argv[1], sys.argv[2:])
    except KeyboardInterrupt:
        pass
