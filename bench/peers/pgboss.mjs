// bench: pg-boss drains jobs of a handler that does nothing; bench/against-peers runs it beside our relay.
//
//   node pgboss.mjs URL LANES JOBS_OF_A_LANE SECONDS_MAX strict|free
//
// Jobs are fetched and completed in batches, by several loops at once: its own polling worker waits half a second between looks. strict: the queue's policy
// is key_strict_fifo and each lane a key; free: the standard policy. Prints a line of JSON: jobs a second, and how many were done. Needs `npm ci` in this folder.
import { PgBoss } from 'pg-boss';

const [url, lanesText, eachText, secondsText, way] = process.argv.slice(2);
const lanes = Number(lanesText), each = Number(eachText), secondsMax = Number(secondsText), total = lanes * each;
const LOOPS = 4, BATCH = 500, INSERTED = 5000, QUEUE = 'drained';

const boss = new PgBoss({ connectionString: url, max: LOOPS + 2, supervise: false, schedule: false });
boss.on('error', error => { console.error(String(error)); process.exit(1); });
await boss.start();
await boss.createQueue(QUEUE, { policy: way === 'strict' ? 'key_strict_fifo' : 'standard' });
let jobs = [];
for (let place = 1; place <= each; place++) {
  for (let lane = 1; lane <= lanes; lane++) {
    jobs.push({ data: { text: 'x'.repeat(275) }, ...(way === 'strict' ? { singletonKey: `lane-${lane}` } : {}) });
    if (jobs.length === INSERTED || (place === each && lane === lanes)) {
      await boss.insert(QUEUE, jobs);
      jobs = [];
    }
  }
}
await boss.getDb().executeSql('VACUUM ANALYZE');

let done = 0;
const begin = performance.now();
const late = () => performance.now() - begin > secondsMax * 1000;
async function loop() {
  while (done < total && !late()) {
    const taken = await boss.fetch(QUEUE, { batchSize: BATCH });
    if (taken.length === 0) continue;
    await boss.complete(QUEUE, taken.map(job => job.id));
    done += taken.length;
  }
}
await Promise.all(Array.from({ length: LOOPS }, loop));
const seconds = (performance.now() - begin) / 1000;
console.log(JSON.stringify({ rate: done / seconds, done, total }));
process.exit(0);
