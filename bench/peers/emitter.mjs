// bench: one turn of eventemitter2 for each line on standard input; bench/against-emitter runs it beside our own delivery.
//
//   node emitter.mjs
//
// Each answer is a line of JSON: processor nanoseconds an event, its collector's and compiler's threads included, for an object that is there already and three
// listeners; the lowest of 15 rounds of about 4 ms. Each listener adds the event's sequence to a sum.
//
//     counted   each listener in try and catch, successes and failures counted
//     observed  the same, and what ours has besides: each call's duration in a histogram, and a context that what the listener calls can find (AsyncLocalStorage)
import eventemitter2 from 'eventemitter2';
import { AsyncLocalStorage } from 'node:async_hooks';
import readline from 'node:readline';

const ROUNDS = 15, ROUND_MS = 4, WARM_MS = 1500, HANDLERS = 3, TYPE = 'demanda.recebida';
const BOUNDS_MS = [0.5, 1, 2.5, 5, 10, 25, 100, 500, 2500, 30000];
const event = {
  sequence_number: 1, event_id: '01020300-0000-4000-8000-000000000000', tipo: TYPE, versao_schema: '1.0.0', timestamp: '2026-06-15T10:30:00.00Z', origem: 'D-1a',
  correlacao_id: '01020300-0000-4000-8000-000000000000', payload: { demanda_id: 'a1b2c3d4-e5f6-4890-abcd-ef1234567890', texto: 'Buraco na rua', canal: 'app' },
};

const used = () => {
  const time = process.cpuUsage();
  return (time.user + time.system) / 1000;
};

function place(counts, took) {
  let bucket = 0;
  while (bucket < BOUNDS_MS.length && took > BOUNDS_MS[bucket]) bucket++;
  counts.buckets[bucket]++;
  counts.count++;
  counts.sum += took;
}

const context = new AsyncLocalStorage();
const ways = {
  counted: (handler, numbers) => given => {
    try {
      handler(given);
      numbers.succeeded.count++;
    } catch (error) {
      numbers.failed.count++;
      numbers.reason = String(error);
    }
  },
  observed: (handler, numbers, colonia) => given => {
    const begin = performance.now();
    let counts = numbers.succeeded;
    try {
      context.run({ colonia, event: given }, handler, given);
    } catch (error) {
      counts = numbers.failed;
      numbers.reason = String(error);
    }
    place(counts, performance.now() - begin);
  },
};

function scene(wrap) {
  const emitter = new eventemitter2.EventEmitter2();
  const sums = new Array(HANDLERS).fill(0);
  const durations = () => ({ buckets: new Array(BOUNDS_MS.length + 1).fill(0), count: 0, sum: 0 });
  for (let i = 0; i < HANDLERS; i++) {
    emitter.on(TYPE, wrap(given => { sums[i] += given.sequence_number; }, { succeeded: durations(), failed: durations() }, `colonia-${i}`));
  }
  return { sums, pass: times => { for (let i = 0; i < times; i++) emitter.emit(TYPE, event); } };
}

const scenes = {};
for (const [name, wrap] of Object.entries(ways)) {
  const made = scene(wrap), start = used(); // however busy the machine, the compiler has had its time
  let count = 0;
  do {
    made.pass(1000);
    count += 1000;
  } while (used() - start < WARM_MS);
  scenes[name] = { ...made, times: Math.max(1, Math.round(ROUND_MS * count / (used() - start))), emitted: count };
}
console.log(JSON.stringify({ ready: true, node: process.version }));
for await (const _ of readline.createInterface({ input: process.stdin })) {
  const answer = {};
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, each] of Object.entries(scenes)) {
      const start = used();
      each.pass(each.times);
      const took = (used() - start) * 1e6 / each.times;
      each.emitted += each.times;
      if (each.sums.some(sum => sum !== each.emitted)) throw new Error('a listener missed an event');
      answer[name] = Math.min(answer[name] ?? Infinity, took);
    }
  }
  console.log(JSON.stringify(answer));
}
