// A producer that knows nothing of Trilha but one SQL function, on PostgreSQL.
//
//   node shop.js prepare
//   node shop.js place ORDER CUSTOMER TOTAL [--then-fail]
'use strict';
const { randomUUID } = require('node:crypto');
const { Client } = require('pg');

async function place(client, order, customer, total, ...more) {
  await client.query('INSERT INTO shop.orders VALUES ($1, $2, $3)', [order, customer, total]);
  const { rows } = await client.query(
    `SELECT message_id, aggregate_sequence FROM shop.outbox_enqueue(tenant_id => 'acme', aggregate_type => 'customer',
       aggregate_key => $1, message_type => 'order.placed', version => '1.0.0', payload => $2, origin => 'shop', correlation_id => $3)`,
    [customer, JSON.stringify({ order, customer, total }), randomUUID()]);
  if (more.includes('--then-fail')) throw new Error(`order ${order}: the shop changed its mind, and the transaction is rolled back`);
  console.log(`order ${order} is message ${rows[0].aggregate_sequence} of ${customer}`);
}

async function prepare(client) {
  await client.query('CREATE SCHEMA shop');
  await client.query('CREATE TABLE shop.orders (id text PRIMARY KEY, customer text NOT NULL, total text NOT NULL)');
}

async function main(what, ...words) {
  const client = new Client({ connectionString: process.env.TRILHA_STORE });
  await client.connect();
  try {
    await client.query('BEGIN');
    await { prepare, place }[what](client, ...words);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    await client.end();
  }
}

main(...process.argv.slice(2)).catch(error => {
  console.error(error.message);
  process.exitCode = 1;
});
