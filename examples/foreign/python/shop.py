#!/usr/bin/env python3
"""A producer that knows nothing of Trilha but one SQL statement, on SQLite or PostgreSQL.

    shop.py prepare
    shop.py place ORDER CUSTOMER TOTAL [--then-fail]
"""
import json
import os
import sys
import uuid

STORE = os.environ.get("TRILHA_STORE", "sqlite:trilha.db")


def on_sqlite(what, arguments):
    import sqlite3  # pylint: disable=import-outside-toplevel
    database = sqlite3.connect(STORE.removeprefix("sqlite:"), timeout=30)
    with database:  # one transaction: committed at the end, rolled back by an exception
        if what == "prepare":
            database.execute("CREATE TABLE shop_orders (id TEXT PRIMARY KEY, customer TEXT NOT NULL, total TEXT NOT NULL)")
            return
        order, customer, total = arguments[:3]
        message = str(uuid.uuid4())  # who gives the id can ask for the sequence
        database.execute("INSERT INTO shop_orders VALUES (?, ?, ?)", (order, customer, total))
        database.execute(
            """INSERT INTO shop_outbox_enqueue (tenant_id, aggregate_type, aggregate_key, message_type, version, payload, origin,
                   correlation_id, message_id) VALUES ('acme', 'customer', ?, 'order.placed', '1.0.0', ?, 'shop', ?, ?)""",
            (customer, payload_of(order, customer, total), str(uuid.uuid4()), message))
        sequence, = database.execute("SELECT aggregate_sequence FROM shop_outbox_message WHERE message_id = ?", (message,)).fetchone()
        told(order, customer, sequence, arguments)


def on_postgresql(what, arguments):
    import psycopg2  # pylint: disable=import-outside-toplevel
    with psycopg2.connect(STORE) as database, database.cursor() as cursor:  # one transaction, as above
        if what == "prepare":
            cursor.execute("CREATE SCHEMA shop")
            cursor.execute("CREATE TABLE shop.orders (id text PRIMARY KEY, customer text NOT NULL, total text NOT NULL)")
            return
        order, customer, total = arguments[:3]
        cursor.execute("INSERT INTO shop.orders VALUES (%s, %s, %s)", (order, customer, total))
        cursor.execute(
            """SELECT message_id, aggregate_sequence FROM shop.outbox_enqueue(tenant_id => 'acme', aggregate_type => 'customer',
                   aggregate_key => %s, message_type => 'order.placed', version => '1.0.0', payload => %s, origin => 'shop',
                   correlation_id => %s)""",
            (customer, payload_of(order, customer, total), str(uuid.uuid4())))
        told(order, customer, cursor.fetchone()[1], arguments)


def payload_of(order, customer, total):
    return json.dumps({"order": order, "customer": customer, "total": total})


def told(order, customer, sequence, arguments):
    if "--then-fail" in arguments:
        sys.exit(f"order {order}: the shop changed its mind, and the transaction is rolled back")
    print(f"order {order} is message {sequence} of {customer}")


if __name__ == "__main__":
    if sys.argv[1:2] not in (["prepare"], ["place"]):
        sys.exit(__doc__)
    (on_sqlite if STORE.startswith("sqlite:") else on_postgresql)(sys.argv[1], sys.argv[2:])
