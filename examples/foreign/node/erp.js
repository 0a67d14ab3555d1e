// A receiver of signed webhooks whose inbox is accepted in the transaction of the effect, on PostgreSQL.
//
//   node erp.js prepare             makes its tables; it knows the customers bia and rui
//   node erp.js customer NAME       knows one more
//   node erp.js serve HOST:PORT     receives; the secret is in the file hook.secret
//   node erp.js orders              what it booked
//
// While there is a file `mute` it does its work and hangs up without an answer, as a program does that dies at the wrong moment.
'use strict';
const { createHash, createHmac, timingSafeEqual } = require('node:crypto');
const fs = require('node:fs');
const http = require('node:http');
const { Pool } = require('pg');

const SECONDS_MAX = 300; // how old a signature may be
const BODY_MAX = 1 << 20;
const pool = new Pool({ connectionString: process.env.TRILHA_STORE });

class Refused extends Error {} // this message cannot be booked, however often it comes

async function transaction(work) {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    const result = await work(client);
    await client.query('COMMIT');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => {});
    throw error;
  } finally {
    client.release();
  }
}

// --- the effect ---------------------------------------------------------------------------------------------------

async function book(client, { order, customer, total }) {
  const known = await client.query('SELECT 1 FROM erp.customers WHERE name = $1', [customer]);
  if (known.rowCount === 0) throw new Refused('no such customer');
  if (!/^\d+(\.\d+)?$/.test(total)) throw new Refused('the total is no amount');
  await client.query('INSERT INTO erp.orders VALUES ($1, $2, $3)', [order, customer, total]);
}

// [status, why]. What is accepted and what it causes commit together, or neither does.
async function receive(tenant, message, body) {
  const digest = createHash('sha256').update(body).digest('hex');
  try {
    const outcome = await transaction(async client => {
      const { rows } = await client.query("SELECT outcome FROM erp.inbox_accept($1, 'erp', $2, $3)", [tenant, message, digest]);
      if (rows[0].outcome === 'new') await book(client, JSON.parse(body));
      return rows[0].outcome;
    });
    return { new: [200, 'booked'], duplicate: [200, 'booked before'], conflict: [422, 'came before with other content'] }[outcome];
  } catch (error) {
    return error instanceof Refused ? [422, error.message] : [500, error.message];
  }
}

// --- HTTP -----------------------------------------------------------------------------------------------------------

// Standard Webhooks: one of the signatures is made with our secret, and lately.
function signed(headers, body, secret) {
  const hmac = createHmac('sha256', secret).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`).update(body);
  const right = Buffer.from('v1,' + hmac.digest('base64'));
  const given = (headers['webhook-signature'] ?? '').split(' ').map(each => Buffer.from(each));
  return given.some(each => each.length === right.length && timingSafeEqual(each, right))
    && Math.abs(Date.now() / 1000 - Number(headers['webhook-timestamp'])) <= SECONDS_MAX;
}

async function bodyOf(request) {
  const parts = [];
  let size = 0;
  for await (const part of request) {
    size += part.length;
    if (size <= BODY_MAX) parts.push(part);
  }
  return size <= BODY_MAX ? Buffer.concat(parts) : Buffer.alloc(0);
}

function answer(response, status, why) {
  response.writeHead(status, { 'content-type': 'text/plain' }).end(why);
}

async function handle(request, response, secret) {
  const body = await bodyOf(request);
  if (!signed(request.headers, body, secret)) return answer(response, 401, 'not signed with our secret');
  const [status, why] = await receive(decodeURIComponent(request.headers['ce-tenantid']), request.headers['webhook-id'], body);
  if (status === 200 && fs.existsSync('mute')) {
    console.log('---', JSON.parse(body).order, why + ', and no answer');
    return response.destroy();
  }
  console.log(status, JSON.parse(body).order, why);
  return answer(response, status, why);
}

const verbs = {
  async prepare() {
    await pool.query('CREATE SCHEMA erp');
    await pool.query("CREATE TABLE erp.customers (name text PRIMARY KEY); INSERT INTO erp.customers VALUES ('bia'), ('rui')");
    await pool.query('CREATE TABLE erp.orders (id text PRIMARY KEY, customer text NOT NULL, total text NOT NULL)');
  },
  async customer(name) {
    await pool.query('INSERT INTO erp.customers VALUES ($1)', [name]);
  },
  async orders() {
    const { rows } = await pool.query('SELECT id, customer, total FROM erp.orders ORDER BY id');
    for (const { id, customer, total } of rows) console.log(id, customer, total);
  },
  async serve(address) {
    const secret = Buffer.from(fs.readFileSync('hook.secret', 'utf8').trim().replace('whsec_', ''), 'base64');
    const at = address.lastIndexOf(':');
    const server = http.createServer((request, response) => handle(request, response, secret).catch(error => answer(response, 500, error.message)));
    await new Promise((listening, failed) => server.on('error', failed).listen(Number(address.slice(at + 1)), address.slice(0, at), listening));
    await new Promise(ended => ['SIGINT', 'SIGTERM'].forEach(signal => process.once(signal, () => server.close(ended).closeAllConnections())));
  },
};

const [what, ...words] = process.argv.slice(2);
verbs[what](...words).catch(error => {
  console.error(error.message);
  process.exitCode = 1;
}).finally(() => pool.end());
