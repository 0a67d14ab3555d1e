// bench: a receiver of webhooks as Standard Webhooks 1.0.0 wants it: it checks the age and the signature of every request, and answers 204 or 401.
//
//   node receiver.mjs SECRET
//
// Prints its port. bench/against-receiver measures what it can take at most, and what our relay gives it.
import crypto from 'node:crypto';
import http from 'node:http';

const key = Buffer.from(process.argv[2].replace(/^whsec_/, ''), 'base64');
const AGE_MAX_S = 300;

function knows(headers, body) {
  const at = Number(headers['webhook-timestamp']);
  if (!(Math.abs(Date.now() / 1000 - at) <= AGE_MAX_S)) return false;
  const expected = crypto.createHmac('sha256', key).update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.`).update(body).digest();
  return String(headers['webhook-signature']).split(' ').some(each => {
    const given = Buffer.from(each.replace(/^v1,/, ''), 'base64');
    return given.length === expected.length && crypto.timingSafeEqual(given, expected);
  });
}

const server = http.createServer({ keepAliveTimeout: 60000 }, (request, response) => {
  const parts = [];
  request.on('data', part => parts.push(part));
  request.on('end', () => {
    response.statusCode = knows(request.headers, Buffer.concat(parts)) ? 204 : 401;
    response.end();
  });
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.on('SIGTERM', () => process.exit(0));
