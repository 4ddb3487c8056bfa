// One process with every role and extension: what it measures, and that the docs, the dashboard and the alerts name what it exports.
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import pg from 'pg';
import { expect, test, vi } from 'vitest';
import {
  apiKeys,
  audit,
  defineExtension,
  defineJob,
  defineResource,
  defineUser,
  f,
  privacy,
  realtime,
  softDelete,
  twoFactor,
  webhooks,
} from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';

const PASSWORD = 'a bell rings at noon';
let addJobs: (ids: string[]) => Promise<void> = async () => undefined;
const importer = defineExtension({
  name: 'importer',
  setup(host) {
    addJobs = (ids) => host.jobs.add('import', ids);
    const run = async (id: string) => {
      if (id === 'broken') throw new Error('cannot import this');
    };
    return { jobs: { import: { run, attempts: 1 } } };
  },
});
const note = defineResource('note', {
  fields: { text: f.string(), title: f.string().deprecated({ since: '2026-11-01' }) },
  policies: { list: 'public', read: 'public', create: 'authenticated' },
  routes: (route) => [
    route.get('/limited', { policy: 'public', rateLimit: { limit: 1, windowMs: 60_000 } }, () => ({})),
  ],
});
const { app, url, person, env } = await startTestApp(
  {
    resources: [defineUser(), note],
    extensions: [apiKeys(), audit(), privacy(), realtime(), softDelete(), twoFactor(), webhooks(), importer],
    jobs: [defineJob('tidy', { run: () => undefined })],
    settings: { rateLimit: { enabled: true, global: false, auth: false } },
  },
  // Not a replica, so it is not used, but its metrics are exported.
  {
    roles: 'all',
    env: (services) => ({ ...services, METRICS_TOKEN: 'scrape', DATABASE_REPLICA_URL: services.DATABASE_URL }),
  },
);
const call = createClient(url);

/** Scrapes the metrics. Returns the value of each series of Belfry, by the series as written. */
async function scrape(): Promise<Map<string, number>> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer scrape' } });
  const lines = (await response.text()).matchAll(/^(belfry_\S+?(?:\{.*\})?) (\S+)$/gm);
  return new Map(Array.from(lines, ([, series, value]) => [series!, Number(value)]));
}

/** Waits until a series has a value. */
const until = (series: string, value: number) =>
  vi.waitUntil(async () => (await scrape()).get(series) === value, { timeout: 30_000, interval: 50 });

/** The types of the exported metrics, by name. */
async function readTypes(): Promise<Map<string, string>> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer scrape' } });
  const lines = (await response.text()).matchAll(/^# TYPE (belfry_\w+) (\w+)$/gm);
  return new Map(Array.from(lines, ([, name, type]) => [name!, type!]));
}

test('counters that alerts watch exist before their first event', async () => {
  const series = await scrape();
  const valuesOf = (name: string, label: string, values: string[], others = '') =>
    values.map((value) => series.get(`${name}{${others}${label}="${value}"}`));
  expect(valuesOf('belfry_db_errors_total', 'kind', ['timeout', 'conflict', 'unavailable', 'other'])).toEqual([
    0, 0, 0, 0,
  ]);
  const mails = ['sent', 'retry', 'failed', 'captured', 'nothing to send', 'lost'];
  expect(valuesOf('belfry_mail_attempts_total', 'outcome', mails)).toEqual(mails.map(() => 0));
  expect(valuesOf('belfry_exports_total', 'outcome', ['ready', 'retry', 'failed', 'lost'])).toEqual([0, 0, 0, 0]);
  expect(valuesOf('belfry_redis_fallbacks_total', 'what', ['limits', 'failed sign-ins'])).toEqual([0, 0]);
  const job = 'extension="importer",job="import",';
  expect(valuesOf('belfry_jobs_total', 'outcome', ['done', 'failed'], job)).toEqual([0, 0]);
  for (const name of ['belfry_relay_batches_total', 'belfry_relay_rows_total'])
    expect(valuesOf(name, 'outcome', ['done', 'failed'])).toEqual([expect.any(Number), 0]);
});

test('requests are counted by method, route pattern and class of the status, never by path', async () => {
  const ann = await person('Ann');
  const { body } = await ann.call('POST', '/api/notes', { text: 'x' });
  for (let i = 0; i < 3; i++) await call('GET', `/api/notes/${body.data.id}`);
  await call('GET', '/api/notes/000000000000000000000000');
  await call('GET', '/api/nothing/here');
  await call('GET', '/healthz');
  await call('GET', '/readyz?probe=1');
  const series = await scrape();
  const requests = (labels: string) => series.get(`belfry_http_requests_total{${labels}}`);
  expect(requests('method="GET",route="/api/notes/:id",status="2xx"')).toBe(3);
  expect(requests('method="GET",route="/api/notes/:id",status="4xx"')).toBe(1);
  expect(requests('method="POST",route="/api/notes",status="2xx"')).toBe(1);
  expect(requests('method="GET",route="none",status="4xx"')).toBe(1);
  expect(requests('method="GET",route="none",status="2xx"')).toBeUndefined();
  const durations = 'belfry_http_request_seconds';
  const labels = 'method="GET",route="/api/notes/:id"';
  expect(series.get(`${durations}_count{${labels}}`)).toBe(4);
  expect(series.get(`${durations}_bucket{${labels},le="+Inf"}`)).toBe(4);
  expect(series.get(`${durations}_bucket{${labels},le="10"}`)).toBe(4);
  expect(series.get(`${durations}_sum{${labels}}`)).toBeGreaterThan(0);
  expect([...series.keys()].filter((key) => /healthz|readyz|nothing\/|0000/.test(key))).toEqual([]);
  expect(series.get('belfry_http_requests_in_flight')).toBe(0);
});

test('a request that the client abandons counts as aborted', async () => {
  const locker = new pg.Client({ connectionString: env.DATABASE_URL });
  await locker.connect();
  await locker.query('begin; lock table notes in access exclusive mode');
  const abandoned = request(`${url}/api/notes`).on('error', () => undefined);
  abandoned.end();
  await until('belfry_http_requests_in_flight', 1);
  abandoned.destroy();
  await until('belfry_http_requests_total{method="GET",route="/api/notes",status="aborted"}', 1);
  await until('belfry_http_requests_in_flight', 0);
  await locker.query('rollback');
  await locker.end();
});

test('methods that no route has share one series', async () => {
  for (const method of ['PROPFIND', 'LOCK']) await fetch(`${url}/api/notes`, { method });
  const keys = [...(await scrape()).keys()];
  expect(keys).toContain('belfry_http_requests_total{method="other",route="/api/notes",status="4xx"}');
  expect(keys.filter((key) => /PROPFIND|LOCK/.test(key))).toEqual([]);
});

test('sign-ins are counted by outcome, and lockouts', async () => {
  const email = 'eve@example.com';
  await call('POST', '/api/auth/register', { name: 'Eve', email, password: PASSWORD });
  await call('POST', '/api/auth/login', { email, password: PASSWORD });
  for (let i = 0; i < 7; i++) await call('POST', '/api/auth/login', { email, password: 'wrong' });
  const series = await scrape();
  const outcomes = ['success', 'wrong_password', 'locked'];
  expect(outcomes.map((outcome) => series.get(`belfry_sign_ins_total{outcome="${outcome}"}`))).toEqual([1, 5, 2]);
  expect(series.get('belfry_lockouts_total{kind="sign-in"}')).toBe(1);
});

test('refusals by a rate limit are counted by the limit', async () => {
  for (let i = 0; i < 3; i++) await call('GET', '/api/notes/limited');
  expect((await scrape()).get('belfry_rate_limit_refusals_total{limit="GET /notes/limited"}')).toBe(2);
});

test('uses of deprecated fields are counted by the name of the field', async () => {
  const ann = await person('Old');
  await ann.call('POST', '/api/notes', { title: 'x' });
  expect((await scrape()).get('belfry_deprecated_requests_total{kind="field",name="note.title"}')).toBe(1);
});

test('jobs of extensions are counted by outcome', async () => {
  await addJobs(['one', 'two', 'broken']);
  await until('belfry_jobs_total{extension="importer",job="import",outcome="done"}', 2);
  await until('belfry_jobs_total{extension="importer",job="import",outcome="failed"}', 1);
  expect((await scrape()).get('belfry_job_seconds_count{extension="importer",job="import"}')).toBe(3);
});

test('background jobs are counted by outcome', async () => {
  await app.jobs.enqueue('tidy');
  await until('belfry_background_job_runs_total{job="tidy",outcome="succeeded"}', 1);
  const keys = [...(await scrape()).keys()];
  expect(keys).toContain('belfry_background_job_seconds_count{job="tidy"}');
  await vi.waitUntil(async () => (await scrape()).has('belfry_background_jobs{job="tidy",status="waiting"}'));
});

test('e-mails and pushes are counted by outcome, and so are the batches of the relay', async () => {
  await app.mail.send({ to: 'eve@example.com', subject: 'Hello', text: 'Hello' });
  await until('belfry_mail_attempts_total{outcome="captured"}', 1);
  const ann = await person('Push');
  await ann.call('POST', '/api/auth/devices', { token: 'device-token-0123456789', platform: 'android' });
  await app.push.send({ to: ann.id, title: 'Hello' });
  await until('belfry_push_devices_total{transport="none",result="ok"}', 1);
  const { body } = await ann.call('POST', '/api/notes', { text: 'for the relay' });
  expect(body.data.id).toBeDefined();
  await vi.waitUntil(async () => ((await scrape()).get('belfry_relay_rows_total{outcome="done"}') ?? 0) > 0, {
    timeout: 30_000,
  });
});

test('the relay reports the rows and the age of the outbox, and the age of the oldest snapshot', async () => {
  const client = new pg.Client({ connectionString: env.DATABASE_URL });
  await client.connect();
  await client.query('begin isolation level repeatable read');
  await client.query('select from notes');
  await client.query(`select pg_sleep(0.01)`);
  const idle = new pg.Client({ connectionString: env.DATABASE_URL });
  await idle.connect();
  await idle.query(
    `insert into outbox (event_id, name, payload, created_at, available_at)
     values ('e', 'test.event', '{}', now() - interval '1 hour', now() + interval '1 day')`,
  );
  // Until the events of other tests are handled, the outbox contains more rows; a scrape may also return figures of up to a second ago.
  const series = await vi.waitUntil(
    async () => {
      const found = await scrape();
      return found.get('belfry_outbox_rows') === 1 && found.get('belfry_outbox_oldest_seconds')! >= 3600 && found;
    },
    { timeout: 30_000, interval: 200 },
  );
  expect(series.get('belfry_db_oldest_snapshot_seconds')).toBeGreaterThan(0);
  await idle.query('delete from outbox');
  await client.query('rollback');
  await Promise.all([client.end(), idle.end()]);
});

test('the connections to Postgres are reported by lane', async () => {
  await call('GET', '/api/notes');
  const series = await scrape();
  expect(series.get('belfry_db_connections_open')).toBeGreaterThan(0);
  expect(series.get('belfry_db_connections_open')).toBeLessThanOrEqual(series.get('belfry_db_connections_max')!);
  expect(series.get('belfry_db_lane_max{lane="reads"}')).toBeGreaterThan(0);
  expect(series.get('belfry_db_wait_timeouts_total{lane="reads"}')).toBe(0);
});

const fileText = (path: string) => readFileSync(new URL(`../../../${path}`, import.meta.url), 'utf8');

/** The names of Belfry's metrics in a text, without the suffixes of the series of a histogram. */
function metricNamesIn(text: string, types: ReadonlyMap<string, string>): Set<string> {
  const names = Array.from(text.matchAll(/belfry_[a-z_]*[a-z]/g), ([name]) => name);
  const baseOf = (name: string) => name.replace(/_(bucket|sum|count)$/, '');
  return new Set(names.map((name) => (types.get(baseOf(name)) === 'histogram' ? baseOf(name) : name)));
}

test('docs/operate/metrics.md lists exactly the metrics that the app exports, with their types', async () => {
  const types = await readTypes();
  const rows = fileText('docs/operate/metrics.md').matchAll(/^\| `(belfry_\w+)(?:\{[^}]*\})?` \| (\w+) \|/gm);
  const documented = new Map(Array.from(rows, ([, name, type]) => [name!, type!]));
  expect([...documented].toSorted()).toEqual([...types].toSorted());
});

test('docs/operate/metrics.md names the labels of every metric', async () => {
  const rows = fileText('docs/operate/metrics.md').matchAll(/^\| `(belfry_\w+)(?:\{([^}]*)\})?` \|/gm);
  const labelsOf = new Map(Array.from(rows, ([, name, labels = '']) => [name!, labels.split(',').filter(Boolean)]));
  for (const series of (await scrape()).keys()) {
    const [, name, labels = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(series)!;
    const base = labelsOf.has(name!) ? name! : name!.replace(/_(bucket|sum|count)$/, '');
    const names = Array.from(labels.matchAll(/(\w+)="/g), ([, label]) => label!).filter((label) => label !== 'le');
    expect([base, names.toSorted()]).toEqual([base, labelsOf.get(base)?.toSorted()]);
  }
});

test.each(['docs/operate/grafana/belfry-dashboard.json', 'docs/operate/grafana/alerts.yml'])(
  '%s uses only exported metrics',
  async (path) => {
    const types = await readTypes();
    const names = metricNamesIn(fileText(path), types);
    expect(names.size).toBeGreaterThan(5);
    expect([...names].filter((name) => !types.has(name))).toEqual([]);
  },
);

test('an alert watches every metric of which docs/operate/metrics.md tolerates no event, and the scraped processes', () => {
  const rows = fileText('docs/operate/metrics.md').matchAll(/^\| `(belfry_\w+)(?:\{[^}]*\})?` \|.*\| any[^|]*\|$/gm);
  const watched = Array.from(rows, ([, name]) => name!);
  expect(watched.length).toBeGreaterThan(5);
  const alerts = fileText('docs/operate/grafana/alerts.yml');
  expect(watched.filter((name) => !alerts.includes(`(${name}`))).toEqual([]);
  expect(alerts).toContain('expr: up{job="belfry"} == 0');
});

test('the dashboard is valid JSON, and every panel has a title and a query', () => {
  const dashboard = JSON.parse(fileText('docs/operate/grafana/belfry-dashboard.json'));
  expect(dashboard.title).toBe('Belfry');
  for (const panel of dashboard.panels) {
    expect(panel.title).toBeTypeOf('string');
    if (panel.type !== 'row') expect(panel.targets.length).toBeGreaterThan(0);
  }
});
