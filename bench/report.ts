import { cpus, totalmem } from 'node:os';
import type { Figure } from './figure.ts';

/** The machine and the settings of a run. */
export interface RunInfo {
  postgres: string;
  redis: string;
  reps: number;
  seconds: number;
  /** How long the run took, in seconds. */
  durationSeconds: number;
  /** Load of other processes when it began (load average of a minute). */
  loadAverage: number;
}

function formatValue({ value, unit }: Figure): string {
  if (unit === '×') return `${value.toFixed(2)} ×`;
  if (unit === 's') return `${value.toFixed(2)} s`;
  if (unit === 'ms') return `${value.toFixed(1)} ms`;
  if (unit === 'bytes') return `${Math.round(value)} bytes`;
  if (unit === '/s') return `${Math.round(value).toLocaleString('en')}/s`;
  if (unit === 'MB') return `${Math.round(value)} MB`;
  return unit === 'round trips' || unit === 'requests' ? String(value) : `${value.toFixed(1)} ${unit}`;
}

/** Returns whether a machine is too busy for figures that will be compared with others. */
export function isMachineBusy(loadAverage: number): boolean {
  return loadAverage > cpus().length / 4;
}

/** Returns the figures for a program, as name to number. */
export function formatJson(figures: readonly Figure[]): string {
  const rounded = figures.map(({ name, value }) => [name, Math.round(value * 1000) / 1000]);
  return JSON.stringify(Object.fromEntries(rounded), null, 2);
}

/** Formats the figures for a terminal. */
export function formatTable(figures: readonly Figure[]): string {
  const width = Math.max(...figures.map(({ name }) => name.length));
  return figures.map((one) => `${one.name.padEnd(width)}  ${formatValue(one).padStart(8)}  ${one.note}`).join('\n');
}

/** Describes the machine of a run as a list in Markdown. */
export function describeRun({
  postgres,
  redis,
  loadAverage,
}: Pick<RunInfo, 'postgres' | 'redis' | 'loadAverage'>): string {
  const memory = Math.round(totalmem() / 2 ** 30);
  const cores = cpus().length;
  return `- Machine: ${cores} cores (${cpus()[0]?.model.trim()}), ${memory} GiB. The servers, the load generator (a separate process with 20 kept-alive
  connections), Postgres and Redis all ran on it, over loopback.
- ${isMachineBusy(loadAverage) ? 'Other processes were using the machine' : 'The machine was otherwise idle'}: load average ${loadAverage.toFixed(1)} at the start.
- Node ${process.versions.node}, Postgres ${postgres}, Redis ${redis}.`;
}

/** Formats the figures as the page that is kept in the repository. */
export function formatMarkdown(
  figures: readonly Figure[],
  { postgres, redis, reps, seconds, durationSeconds, loadAverage }: RunInfo,
): string {
  const rows = figures.map((one) => `| \`${one.name}\` | ${formatValue(one)} | ${one.note} |`);
  return `# Benchmark results

Written by \`npm run bench -- --write\` on ${new Date().toISOString().slice(0, 10)}; the run took ${Math.round(durationSeconds)} s.

A ratio is Belfry's figure divided by that of its [baseline](#baselines). Both were measured in this run on the same machine, in alternating rounds: ${reps}
repetitions of ${seconds} s for each side. The table shows the median of the rounds' ratios, and their range. Compare ratios only; absolute numbers
depend on the machine.

${describeRun({ postgres, redis, loadAverage })}
- Belfry in production mode with log level \`warn\`; 10,000 records; every request includes a session look-up. CPU time is that of the
  API's process, without Postgres and the load generator.

| name | value | range; Belfry to baseline; details |
|---|---|---|
${rows.join('\n')}

## Baselines

| figure | what is measured, and against which baseline |
|---|---|
| \`records.*\` | Requests per second. The baseline is what a competent team writes by hand with express 5, pg and zod: prepared statements, record and outbox row in one statement (\`bench/baselines/handwritten-api.ts\`). \`.lean\` is the same API without etag and x-powered-by, with a simple query parser, its own body reader, reads over two pipelined connections, and timestamps read as text. |
| \`records.*.queries\` | Sequential round trips to Postgres of one request, counted on the wire by a proxy that holds back responses. Statements that are sent together count as one round trip. |
| \`records.batch\` | Records per second that batches of 1,000 creates make, over two connections, compared to single creates over 20 connections. |
| \`records.related.*\` | Requests per second of lists that follow relations, among 1,000 organisations, 5,000 memberships, 100,000 tickets and 200,000 comments. The baseline is express 5 and pg with the fastest SQL that we found for each list on the same tables (\`bench/baselines/related.ts\`). \`filter\`: tickets by a field of their organisation, which half of them, 1 of 100 (\`rare\`) or a single one (\`one\`) has. \`path\`: comments by the name of their ticket's organisation. \`scope\`: tickets of the organisations of which the viewer is a member. \`reverse\`: organisations by the status of their tickets; \`rare\` after requests for a common status. \`.count\`: with the exact total, otherwise \`count=none\`. |
| \`aggregates.group\` | Requests for the count and the sum of 100,000 records, grouped by a field, one at a time. The baseline is the handwritten API with the same SQL. |
| \`records.scale.*\` | The duration of a list request on 1,000,000 rows, compared to the same request on 10,000 rows, one request at a time. Less is better; 1 means that the number of rows does not matter. \`page\`: the first page of an owner's 500 records, with the total. \`cursor\`: page 10,000 of all records, by cursor. \`search\`: a search that matches 50 records, with the total. |
| \`scale.list.*\` | As \`records.scale.*\`, for lists of all records. \`total\`, \`capped\`: the first page, with the exact total and with \`count=capped\`. \`deep\`, \`middle\`: the page at 90 % and at 50 % of the list, with the exact total. \`short\`: a search for two letters that no record contains, with \`count=capped\`; \`short.exact\`: with the exact total. \`updated\`: the order by \`updatedAt\`, with a declared index. |
| \`http.reject-cost\` | CPU time of a request whose body is refused with 422, compared to a bare Node server that receives and parses the same body. The figure is the worst of several hostile bodies of up to 1 MB. |
| \`accounts.limited\` | Reads of a record with rate limits, which count each request in Redis, compared to Belfry without rate limits. |
| \`accounts.logins\` | Logins, two at a time, compared to scrypt alone with the same cost. |
| \`accounts.sign-ins\` | Sign-ins by a link in an e-mail (\`link\`), with an ID token of an identity provider (\`oidc\`) and by passkey (\`passkey\`), four at a time, compared to those by password. The last two need two requests each. |
| \`accounts.login-impact\` | The effect of 20 clients that log in without a pause. \`dns.p99\`: the duration of \`dns.lookup\` in that process, which shares the thread pool with password hashing. \`reads\`: reads of a record by 20 clients, compared to the same reads without logins. |
| \`relay.rows\` | Outbox rows per second, compared to two loops that each claim 500 outbox rows with SKIP LOCKED, add a job for each row (addBulk), and delete the rows. Belfry's relay also writes a webhook delivery for each row. |
| \`audit.create\` | Creates of an audited resource, compared to the same without audit. |
| \`audit.relay\` | Events that the relay appends to the audit trail, compared to events that it discards. |
| \`webhooks.deliveries\` | Deliveries per second, compared to undici alone with the same signatures, to the same receiver process. Belfry's worker also claims each delivery and writes its result. 20 endpoints; deliveries of 1 KB that are already in the table. |
| \`webhooks.default.throughput\` | Deliveries per second of one worker with default settings to a receiver that responds after 25 ms, from the first request of a new worker to the last. |
| \`webhooks.latency\` | Time in ms from when web knows that a create is committed until the receiver has its webhook. web, relay, webhook-worker and push-worker are separate processes without other work. |
| \`webhooks.load200\` | The same time while 200 records per second are created. |
| \`webhooks.hanging\` | The same time for a healthy receiver while 1,000 deliveries wait for a receiver that never responds, with the default concurrency. |
| \`webhooks.fanout.scale\` | The time that the relay takes to create the deliveries of 2,000 events, each for one endpoint, with 100,000 endpoints in the table, compared to 10 endpoints. 1 means that the number of endpoints does not matter. |
| \`webhooks.fanout.filtered\` | The time that the relay takes to create the deliveries of one event for 100,000 endpoints with a filter each, no two of them equal, compared to the same endpoints without filters. |
| \`webhooks.kept-events.relay\` | The time that the relay takes to keep events for backfills and to create a delivery of each, compared to the deliveries alone. |
| \`webhooks.kept-events.size\` | What a kept event takes in the database. |
| \`webhooks.unit.*\` | What a delivery costs, with five separate processes: 50 creates per second (\`slow\`), a create every 2.5 s (\`rare\`), 3,000 creates at once (\`burst\`), and events with 21 endpoints (\`fanout\`). Statements and CPU time are those of relay and webhook-worker; statements include BEGIN and COMMIT, counted on the wire. Redis commands are those of all processes, with the commands inside of scripts. \`idle\`: the same processes without work. \`stored\`: what a finished delivery takes in the log, with its indexes. |
| \`scale.webhooks.heldSnapshot\` | The blocks that a claim of deliveries reads at the end of 40 s in which another session holds a snapshot, compared to the same load without it: 300 deliveries per second to 30 endpoints, 100 jobs, 20 pushes and 20 e-mails per second. 1 means that the snapshot does not matter. |
| \`scale.erasure\`, \`scale.export\` | The duration of the erasure of an account and of the export of its data, compared to empty tables. The account has 200 posts and 200 deliveries about it. Others have 1,000,000 finished deliveries, half of them to one endpoint, and 200,000 push results, e-mails, audited values, jobs and events each. The tables have no statistics. 1 means that the rows of others do not matter. |
| \`webhooks.memory\` | Growth of a worker's memory over 100,000 deliveries, after 20,000 deliveries to warm up, measured after garbage collection. |
| \`hosting.restart\` | Two \`web\` processes behind HAProxy, which checks \`/readyz\` and never retries, are replaced one after the other while 20 connections send requests without a pause. \`failed\`: failed requests. \`ms\`: the longest time from SIGTERM to the end of a process. |
| \`hosting.recovery\` | Postgres is killed in the middle of a burst of webhooks, and started again after 7 s. The time in ms from its recovery to the last webhook. |
| \`push.fcm\`, \`push.apns\`, \`push.web\` | One push to that many devices by one push-worker, which looks them up, sends, and stores the results. The baseline is the provider's library alone, used in its fastest way (\`bench/baselines/push-library.ts\`). Both send to the same fake provider on this machine, which accepts every message at once. |
| \`push.accept100k\` | Time in seconds until a call of \`app.push.send\` to 100,000 users with one device each returns. |
| \`push.memory\` | Growth of a push-worker's memory between the first and the last of such pushes, measured after garbage collection. |
| \`push.wal\` | WAL for each device of such a push. |
| \`jobs.enqueue\`, \`jobs.run\` | 20,000 background jobs that do nothing, enqueued and run per second, 50 at once. \`enqueue\` and \`run.bullmq\` are compared to BullMQ alone, whose jobs are in Redis only. \`run\` is compared to graphile-worker with a local queue of 500 jobs and results in batches: it deletes a finished job, Belfry keeps its row. |
| \`client.get\`, \`client.list\` | Requests per second that \`@belfry/client\` sends, one at a time, for a record and for a page of 20, compared to \`fetch\` with \`JSON.parse\` alone. Both sides take turns with every request. |
| \`client.size\` | The compressed bytes of the client in a page that esbuild bundles: at first, and for parts that are loaded when they are used. |
| \`pages.console\`, \`pages.portal\` | The compressed bytes that a browser loads to show the first view of the console and of the webhook portal. |
| \`files.upload\` | Uploads of 256 MiB to the disk in MiB per second, compared to a bare Node server that pipes the request into a file. Belfry also detects the type and writes a row. |
| \`realtime.p95\` | Time in ms from when web knows that an article is committed until a client receives it. One web process has 2,000 open streams, each of a different user who subscribes to two resources. In each resource 100 records per second are created: articles, which all users see, and memos, which only their owners see. |
| \`realtime.bytesPerStream\` | Memory that each stream adds to that process, measured after garbage collection. |
| \`start.*\` | A web process that runs the sources, not the bundles of the package, with fifty resources of ten fields each (\`bench/apps/fifty-resources.ts\`), with a warm compile cache (NODE_COMPILE_CACHE, as in the Procfile). \`ms\`: from its start until \`/readyz\` reports that it is ready. \`memory\`: its resident memory after three idle seconds. |
| \`package.*\` | An app that create-belfry makes of the packed Belfry, in an empty folder (\`bench/groups/package.ts\`). npm's cache is warm and is not revalidated (\`prefer-offline\`). \`first-record\`: from the start of create-belfry until a registered user has created a post on the dev server. \`dev\`: a start of the dev server with Postgres and Redis of its own; the first start also creates the database. \`dev.reload\`: from a save that changes no declaration until the new process answers. \`memory\`: the resident memory of \`web\` as in the app's Procfile; \`memory.single\`: of one process with all roles. \`start\`: with a warm compile cache. |
`;
}
