// bench: one turn of Ajv for each line on standard input; bench/against-ajv runs it beside our own validator.
//
//   node ajv.mjs SET_DIR [--assert-format] [--cpu]
//
// SET_DIR holds schema.json and instances.jsonl. Each answer is a line of JSON: nanoseconds a document for parsing (UTF-8
// bytes to values), for validating values, for both, and for both and writing the values as JSON text again: the lowest of 15 rounds of 4 ms. With --cpu it is the process's processor time, its
// collector's and compiler's threads included. Needs `npm ci` in this folder.
import Ajv2020 from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';

const folder = process.argv.slice(2).find(a => !a.startsWith('--'));
const assertFormat = process.argv.includes('--assert-format'), cpu = process.argv.includes('--cpu');
const ROUND_MS = 4, ROUNDS = 15, WARM_MS = 1500;

const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: assertFormat });
if (assertFormat) addFormats(ajv);
const validate = ajv.compile(JSON.parse(fs.readFileSync(path.join(folder, 'schema.json'), 'utf8')));
const text = fs.readFileSync(path.join(folder, 'instances.jsonl'), 'utf8');
const lines = text.split('\n').filter(line => line !== '').map(line => Buffer.from(line));
const documents = lines.map(line => JSON.parse(line.toString('utf8')));

const used = () => {
  const time = process.cpuUsage();
  return (time.user + time.system) / 1000;
};
const now = () => (cpu ? used() : performance.now());
const modes = {
  parse: () => lines.filter(line => JSON.parse(line.toString('utf8')) !== undefined).length,
  validate: () => documents.filter(document => validate(document)).length,
  parse_validate: () => lines.filter(line => validate(JSON.parse(line.toString('utf8')))).length,
  stored: () => lines.filter(line => {
    const document = JSON.parse(line.toString('utf8'));
    return validate(document) && JSON.stringify(document).length > 0;
  }).length,
};
const passes = {};
for (const [name, pass] of Object.entries(modes)) {
  const start = used(); // however busy the machine, the compiler has had its time
  let count = 0;
  do {
    if (pass() !== lines.length) throw new Error('some document is not valid');
    count++;
  } while (used() - start < WARM_MS);
  passes[name] = Math.max(1, Math.round(ROUND_MS * count / (used() - start)));
}
console.log(JSON.stringify({ ready: true, node: process.version }));
for await (const _ of readline.createInterface({ input: process.stdin })) {
  const answer = {};
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, pass] of Object.entries(modes)) {
      const start = now();
      for (let i = 0; i < passes[name]; i++) pass();
      const took = (now() - start) * 1e6 / passes[name] / lines.length;
      answer[`${name}_ns`] = Math.min(answer[`${name}_ns`] ?? Infinity, took);
    }
  }
  console.log(JSON.stringify(answer));
}
