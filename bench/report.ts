import { cpus, totalmem } from 'node:os';
import type { Figure } from './figure.ts';

/** The machine and the settings of a run. */
export interface Circumstances {
  postgres: string;
  redis: string;
  reps: number;
  seconds: number;
  /** How long the run took, in seconds. */
  took: number;
  /** Load of other processes when it began (load average of a minute). */
  load: number;
}

function shown({ value, unit }: Figure): string {
  if (unit === '×') return `${value.toFixed(2)} ×`;
  if (unit === 's') return `${value.toFixed(2)} s`;
  if (unit === 'ms') return `${value.toFixed(1)} ms`;
  if (unit === 'bytes') return `${Math.round(value)} bytes`;
  return unit === 'MB' ? `${Math.round(value)} MB` : String(value);
}

/** Returns whether a machine is too busy for figures that will be compared with others. */
export function isBusy(load: number): boolean {
  return load > cpus().length / 4;
}

/** Returns the figures for a program, as name to number. */
export function asJson(figures: readonly Figure[]): string {
  const rounded = figures.map(({ name, value }) => [name, Math.round(value * 1000) / 1000]);
  return JSON.stringify(Object.fromEntries(rounded), null, 2);
}

/** Formats the figures for a terminal. */
export function asTable(figures: readonly Figure[]): string {
  const width = Math.max(...figures.map(({ name }) => name.length));
  return figures.map((one) => `${one.name.padEnd(width)}  ${shown(one).padStart(8)}  ${one.note}`).join('\n');
}

/** Formats the figures as the page that is kept in the repository. */
export function asMarkdown(
  figures: readonly Figure[],
  { postgres, redis, reps, seconds, took, load }: Circumstances,
): string {
  const memory = Math.round(totalmem() / 2 ** 30);
  const cores = cpus().length;
  const rows = figures.map((one) => `| \`${one.name}\` | ${shown(one)} | ${one.note} |`);
  return `# Benchmark results

Written by \`npm run bench -- --write\` on ${new Date().toISOString().slice(0, 10)}; the run took ${Math.round(took)} s.

A ratio is Belfry's figure divided by that of its [baseline](#baselines). Both were measured in this run on the same machine, in turns: ${reps}
repetitions of ${seconds} s for each side. The table has the median of the ratios of the rounds, and their range. Compare ratios only; absolute numbers
depend on the machine.

- Machine: ${cores} cores (${cpus()[0]?.model.trim()}), ${memory} GiB. The servers, the load generator (a process of its own with 20 kept-alive
  connections), Postgres and Redis all ran on it, over loopback.
- ${isBusy(load) ? 'Other processes were using the machine' : 'The machine was otherwise idle'}: load average ${load.toFixed(1)} at the start.
- Node ${process.versions.node}, Postgres ${postgres}, Redis ${redis}.
- Belfry in production mode with log level \`warn\`; 10,000 records; every request includes a session look-up.

| name | value | range; Belfry to baseline |
|---|---|---|
${rows.join('\n')}

## Baselines

| figure | what is measured, and against which baseline |
|---|---|
| \`records.*\` | Requests per second. The baseline is what a competent team writes by hand with express 5, pg and zod: named statements, record and outbox row in one statement (\`bench/baselines/handwritten-api.ts\`). \`.lean\` is the same without etag and x-powered-by, with a simple query parser, its own body reader, reads on two pipelined connections, and timestamps read as text. |
| \`records.*.queries\` | Sequential round trips to Postgres of one request, counted on the wire by a proxy that holds back responses. Statements that are sent together count as one. |
| \`records.scale.*\` | The time of a list on 1,000,000 rows, compared to the same list on 10,000, one request at a time. Less is better; 1 means that the number of rows does not matter. Page: the first page of an owner's 500 records, counted. Cursor: page 10,000 of all. Search: \`q\` that finds 50 of all, counted. |
| \`http.reject-cost\` | CPU time of a request whose body is refused with 422, compared to a bare Node server that receives and parses the same body. The worst of several hostile bodies of up to 1 MB. |
| \`accounts.limited\` | Reads of a record, compared to Belfry without rate limits. With them, each request is counted in Redis. |
| \`accounts.logins\` | Logins, compared to bare scrypt of the same cost, two at once. |
| \`accounts.login-impact\` | The effect of 20 clients that log in without a pause. \`dns.p99\`: the time of \`dns.lookup\` in that process, which shares the thread pool with the hashes. \`reads\`: 20 clients that read a record, compared to the same without logins. |
| \`relay.rows\` | Outbox rows per second, compared to two streams that each take 500 outbox rows with SKIP LOCKED, add a job for each (addBulk) and delete them. Belfry's relay also writes a webhook delivery for each row. |
| \`audit.create\` | Creates of an audited resource, compared to the same without audit. |
| \`audit.relay\` | Events that become audit rows, each in the chain, compared to events that the relay discards. |
| \`webhooks.deliveries\` | Deliveries per second, compared to undici alone with the same signing, to the same receiver process. Belfry's worker also claims each delivery and writes its result. 20 endpoints; deliveries of 1 KB that are already in the table. |
| \`webhooks.latency\` | Time in ms from when web knows that a create is committed until the receiver has its webhook. web, relay, webhook-worker and push-worker are separate processes without other work. |
| \`webhooks.load200\` | The same while 200 records a second are created. |
| \`webhooks.hanging\` | The same for a healthy receiver while 1,000 deliveries wait for one that never responds, at the default concurrency of 10. |
| \`webhooks.fanout.scale\` | The time in which the relay creates the deliveries of 2,000 events, each for one endpoint, with 100,000 endpoints in the table, compared to ten. 1 means that the number of endpoints does not matter. |
| \`webhooks.memory\` | How much more memory a worker uses, after garbage collection, after 100,000 deliveries than before, with 20,000 to warm up. |
| \`push.fcm\`, \`push.apns\`, \`push.web\` | One push to that many devices by one push-worker, which looks them up, sends, and stores the results. The baseline is the provider's library alone, used in its fastest way (\`bench/baselines/push-library.ts\`). Both send to the same provider on this machine, which accepts everything at once. |
| \`push.accept100k\` | Time in seconds that \`app.push.send\` to 100,000 users with one device each takes to return. |
| \`push.memory\` | How much more memory a push-worker uses, after garbage collection, after it has sent such pushes again than after the first time. |
| \`realtime.p95\` | Time in ms from when web knows that an article is committed until a client receives it. One process of web has 2,000 open streams, each of its own user with subscriptions to two resources. 100 records a second are created of each: articles, which all users see, and memos, which only their owners see. |
| \`realtime.bytesPerStream\` | How much more memory that process uses for each stream, after garbage collection. |
| \`start.*\` | A process of web with fifty resources of ten fields each (\`bench/apps/fifty-resources.ts\`), with a warm compile cache (NODE_COMPILE_CACHE, as in the Procfile). \`ms\`: from its start to a ready response of \`/readyz\`. \`memory\`: its resident memory after three idle seconds. |
`;
}
