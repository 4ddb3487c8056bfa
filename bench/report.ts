import { cpus, totalmem } from 'node:os';
import type { Figure } from './figure.ts';

/** What a run was made on and with. */
export interface Circumstances {
  postgres: string;
  redis: string;
  reps: number;
  seconds: number;
  /** How long the run took, in seconds. */
  took: number;
  /** Processes that others kept running when it began (load average of a minute). */
  load: number;
}

function shown({ value, unit }: Figure): string {
  if (unit === '×') return `${value.toFixed(2)} ×`;
  if (unit === 's') return `${value.toFixed(2)} s`;
  if (unit === 'ms') return `${value.toFixed(1)} ms`;
  if (unit === 'bytes') return `${Math.round(value)} bytes`;
  return unit === 'MB' ? `${Math.round(value)} MB` : String(value);
}

/** Whether a machine is too busy for figures that will be compared with others. */
export function isBusy(load: number): boolean {
  return load > cpus().length / 4;
}

/** The figures for a program: name to number. */
export function asJson(figures: readonly Figure[]): string {
  const rounded = figures.map(({ name, value }) => [name, Math.round(value * 1000) / 1000]);
  return JSON.stringify(Object.fromEntries(rounded), null, 2);
}

/** The figures for a terminal. */
export function asTable(figures: readonly Figure[]): string {
  const width = Math.max(...figures.map(({ name }) => name.length));
  return figures.map((one) => `${one.name.padEnd(width)}  ${shown(one).padStart(8)}  ${one.note}`).join('\n');
}

/** The figures as the page that is kept in the repository. */
export function asMarkdown(
  figures: readonly Figure[],
  { postgres, redis, reps, seconds, took, load }: Circumstances,
): string {
  const memory = Math.round(totalmem() / 2 ** 30);
  const cores = cpus().length;
  const rows = figures.map((one) => `| \`${one.name}\` | ${shown(one)} | ${one.note} |`);
  return `# Results of the benchmark

Written by \`npm run bench -- --write\` on ${new Date().toISOString().slice(0, 10)}; the run took ${Math.round(took)} s.

A ratio is Belfry divided by its yardstick, both measured in this run on this machine, in turns: ${reps} repetitions of
${seconds} s for each side, the median of the rounds' ratios, then their range. Compare ratios; absolute numbers are this machine's.

- Machine: ${cores} cores (${cpus()[0]?.model.trim()}), ${memory} GiB; everything on it: servers, load generator (a process of its own,
  20 kept-alive connections), Postgres, Redis. Loopback.
- ${isBusy(load) ? 'Others worked on the machine' : 'The machine had nothing else to do'}: load average ${load.toFixed(1)} at the start.
- Node ${process.versions.node}, Postgres ${postgres}, Redis ${redis}.
- Belfry in production mode, log level \`warn\`. 10,000 records, a session look-up in every request.

| name | value | range; Belfry to yardstick |
|---|---|---|
${rows.join('\n')}

## The yardsticks

- \`records.*\`: the floor, what a competent team writes by hand with express 5, pg and zod: named statements, record and
  outbox row in one statement (\`bench/processes/floor.ts\`). \`.lean\`: the same without etag and x-powered-by, simple query
  parser, a body reader of its own, reads on two pipelined connections, timestamps taken as text.
- \`records.*.queries\`: sequential round trips to Postgres of one request, counted on the wire by a proxy that holds answers
  back; statements that are sent together count as one.
- \`accounts.login-impact\`: 20 clients log in without a pause. dns.p99: \`dns.lookup\` in that process meanwhile; it shares the thread
  pool with the hashes. reads: 20 clients that read a record, to the same without the logins.
- \`accounts.limited\`: reads of a record, to Belfry with its rate limits off. With them on each request is counted in Redis.
- \`http.reject-cost\`: CPU time of a request whose body is refused with 422, to that of a bare Node server that receives and parses the
  same body; the worst of some hostile bodies of up to 1 MB.
- \`records.scale.*\`: the time of a list on 1,000,000 rows to the time of the same list on 10,000, one request at a time: less is
  better, 1 is a list that does not care. Page: an owner's first page, of 500 records, counted. Cursor: page 10,000 of all. Search:
  \`q\` that finds 50 of all, counted.
- \`accounts.logins\`: bare scrypt of the same cost, two at once.
- \`relay.rows\`: two streams that take 500 outbox rows with SKIP LOCKED, add a job for each (addBulk), delete them. Belfry's
  relay writes a webhook delivery for each row meanwhile.
- \`webhooks.deliveries\`: undici alone, signing alike, to the same receiver process. Belfry's worker also claims each delivery
  and writes its result; 20 endpoints, deliveries of 1 KB that are in the table already.
- \`audit.create\`: creates of a resource that is audited, to the same without. \`audit.relay\`: events that become audit rows, each in
  the chain, to events that the relay only throws away.
- \`start.*\`: a process of \`web\` with fifty resources of ten fields each (\`bench/fifty.ts\`), compiled before (NODE_COMPILE_CACHE, as in the Procfile): from its start to a ready answer of
  \`/readyz\`; its resident memory after three idle seconds.
- \`webhooks.latency\`: from when web knows that a create is committed to when the receiver sees its webhook, in ms; web, relay,
  webhook-worker and push-worker each a process of its own, nothing else to do.
- \`webhooks.load200\`: the same while 200 records a second are created.
- \`webhooks.hanging\`: the same at a healthy receiver while 1,000 deliveries wait for one that never answers, at the default
  concurrency of 10.
- \`webhooks.fanout.scale\`: the time in which the relay makes deliveries of 2,000 events, each for one endpoint, with 100,000 endpoints
  in the table to the time with ten: 1 is a fan-out that does not care.
- \`webhooks.memory\`: by how much a worker has more memory in use, garbage left out, after 100,000 deliveries than before; 20,000 to warm up.
- \`realtime.p95\`: 2,000 streams are open in one process of web, each by a user of its own, and follow two resources; 100 records a second
  are created of each: articles, which all of them see, and memos, which only their owners see. From when web knows
  that an article is committed to a client's sight of it, in ms. \`realtime.bytesPerStream\`: by how much that process has more memory in use,
  garbage left out, for each stream.
- \`push.fcm\`, \`push.apns\`, \`push.web\`: one push to that many devices by one push-worker, which looks them up, sends and stores the
  answers, to the provider's library alone in the way in which it is quickest (\`bench/processes/push-library.ts\`), both to the same
  provider on this machine, which takes everything at once.
- \`push.accept100k\`: how long \`app.push.send\` to 100,000 users with a device each takes to give control back, in seconds.
- \`push.memory\`: how much more memory a push-worker has in use, garbage left out, when it has sent such pushes again than after the first.
`;
}
