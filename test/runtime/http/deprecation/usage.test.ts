// How operators see which deprecated things are still used: the log line of each request, and a counter.
import { afterAll, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

const OPEN = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const post = defineResource('post', {
  fields: {
    title: f.string().filterable().deprecated({ since: '2026-11-01' }),
    lines: f.array(f.object({ note: f.string().deprecated({ since: '2026-11-01' }) })),
    never: f.string().deprecated({ since: '2026-11-01' }),
  },
  policies: OPEN,
  deprecated: { delete: { since: '2026-11-01' } },
  routes: (route) => [route.get('/:id/old', { policy: 'public', deprecated: { since: '2026-11-01' } }, () => ({}))],
});

const output: string[] = [];
const written = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
  output.push(String(chunk));
  return true;
});
afterAll(() => written.mockRestore());
const { call, app, url, person } = await startTestApp(
  { resources: [defineUser(), post] },
  { env: () => ({ LOG_LEVEL: 'info', METRICS_TOKEN: 'scrape' }) },
);
const { id } = await app.service(post).create({ title: 'Old' });

/** Sends a request, and returns its log line. */
async function lineOf(send: () => Promise<{ headers: Headers }>): Promise<Record<string, unknown>> {
  const requestId = (await send()).headers.get('x-request-id');
  const find = () => output.map((line) => JSON.parse(line)).find((line) => line.requestId === requestId);
  return vi.waitUntil(find, { timeout: 30_000, interval: 10 });
}

/** The counter of deprecated uses: the value by series. */
async function readCounts(): Promise<Record<string, number>> {
  const response = await fetch(`${url}/metrics`, { headers: { authorization: 'Bearer scrape' } });
  const series = (await response.text()).matchAll(
    /^belfry_deprecated_requests_total\{kind="(\w+)",name="(.*)"\} (\d+)$/gm,
  );
  return Object.fromEntries(Array.from(series, ([, kind, name, value]) => [`${kind} ${name}`, Number(value)]));
}

const NONE = {
  'route DELETE /api/posts/:id': 0,
  'route GET /api/posts/:id/old': 0,
  'field post.title': 0,
  'field post.lines[].note': 0,
  'field post.never': 0,
};

test('before the first request, everything deprecated is counted with 0, and a name never contains text of clients', async () => {
  expect(await readCounts()).toEqual(NONE);
  await call('GET', `/api/posts/${id}`);
  await call('GET', '/api/posts?titel=1&sort=titel');
  await call('PATCH', `/api/posts/${id}`, { titel: 'x' });
  expect(await readCounts()).toEqual(NONE);
});

test('the log line of a request names the user, and the deprecated routes and fields that it used', async () => {
  const ann = await person('Ann');
  expect(await lineOf(() => ann.call('GET', `/api/posts/${id}/old`))).toMatchObject({
    msg: 'request',
    status: 200,
    userId: ann.id,
    deprecated: ['GET /api/posts/:id/old'],
  });
  const body = { title: 'x', lines: [{ note: 'a' }, { note: 'b' }] };
  expect(await lineOf(() => call('PATCH', `/api/posts/${id}`, body))).toMatchObject({
    msg: 'request',
    deprecated: ['post.title', 'post.lines[].note'],
  });
  expect(await lineOf(() => call('GET', `/api/posts/${id}`))).not.toHaveProperty('deprecated');
});

test('the counter counts each request once for each deprecated thing, also when the request is refused', async () => {
  const before = await readCounts();
  await call('GET', '/api/posts?title[in]=a,b&title[ne]=c');
  await call('POST', '/api/posts', { lines: [{ note: 'a' }, { note: 'b' }] });
  await call('GET', '/api/posts?title=a&unknown=1');
  await call('DELETE', `/api/posts/${'0'.repeat(24)}`);
  await call('HEAD', `/api/posts/${id}/old`);
  const after = await readCounts();
  const added = Object.entries(after).map(([name, value]) => [name, value - before[name]!]);
  expect(Object.fromEntries(added)).toEqual({
    'route DELETE /api/posts/:id': 1,
    'route GET /api/posts/:id/old': 1,
    'field post.title': 2,
    'field post.lines[].note': 1,
    'field post.never': 0,
  });
});
