// bench: graphile-worker drains jobs of a task that does nothing; bench/against-peers runs it beside our relay.
//
//   node graphile.mjs URL LANES JOBS_OF_A_LANE SECONDS_MAX strict|free
//
// The best configuration that its documents give for many small jobs: a local queue and completions in batches. strict: each lane is a named queue, whose
// jobs run one by one in order; free: no order. Prints a line of JSON: jobs a second, and how many were done. Needs `npm ci` in this folder.
import { run, makeWorkerUtils, Logger } from 'graphile-worker';
import pg from 'pg';

const [url, lanesText, eachText, secondsText, way] = process.argv.slice(2);
const lanes = Number(lanesText), each = Number(eachText), secondsMax = Number(secondsText), total = lanes * each;
const CONCURRENT = 24, LOCAL_QUEUE = 500;
const logger = new Logger(() => () => {});

const utils = await makeWorkerUtils({ connectionString: url, logger });
await utils.migrate();
const sql = new pg.Client(url);
await sql.connect();
await sql.query(
  `SELECT graphile_worker.add_jobs(array_agg((task, payload, queue, NULL, NULL, NULL, NULL, NULL)::graphile_worker.job_spec))
   FROM (SELECT 'note' AS task, json_build_object('text', repeat('x', 275)) AS payload, CASE WHEN $3 THEN 'lane-' || lane END AS queue
         FROM generate_series(1, $2::int) place, generate_series(1, $1::int) lane) jobs`, [lanes, each, way === 'strict']);
await sql.query('VACUUM ANALYZE');
await sql.end();

let done = 0, ended;
const all = new Promise(resolve => { ended = resolve; });
const begin = performance.now();
const stop = setTimeout(() => ended(), secondsMax * 1000);
const runner = await run({
  preset: { worker: { connectionString: url, concurrentJobs: CONCURRENT, maxPoolSize: CONCURRENT + 1, pollInterval: 100,
    localQueue: { size: LOCAL_QUEUE, refetchDelay: { durationMs: 10 } }, completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
  logger, noHandleSignals: true,
  taskList: { note: () => { if (++done === total) ended(); } },
});
await all;
const seconds = (performance.now() - begin) / 1000;
clearTimeout(stop);
console.log(JSON.stringify({ rate: done / seconds, done, total }));
await Promise.race([runner.stop(), new Promise(resolve => setTimeout(resolve, 5000))]);
process.exit(0);
