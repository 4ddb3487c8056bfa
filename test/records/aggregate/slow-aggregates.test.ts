// Aggregates that take too long end with a 503, and do not delay other requests.
import pg from 'pg';
import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const book = defineResource('book', { fields: { title: f.string().aggregatable() }, policies: { list: 'public' } });
const note = defineResource('note', { fields: { text: f.string() }, policies: { list: 'public', read: 'public' } });
const { app, call, env } = await startTestApp({ resources: [defineUser(), book, note] });
const { id } = await app.service(note).create({ text: 'quick' });

test('aggregates that take too long respond 503 with advice, while lists and reads go on', async () => {
  // A query on a locked table takes as long as the test needs.
  const locker = new pg.Client({ connectionString: env.DATABASE_URL });
  await locker.connect();
  await locker.query('begin');
  await locker.query('lock table books in access exclusive mode');
  const aggregates = Array.from({ length: 6 }, () => call('GET', '/api/books/aggregate?group=title'));
  const viaCode = app.service(book).aggregate({ group: ['title'] });
  viaCode.catch(() => undefined);
  let ended = 0;
  for (const one of aggregates) void one.then(() => ended++);
  let rounds = 0;
  while (ended === 0 && rounds < 20) {
    expect((await call('GET', `/api/notes/${id}`)).status).toBe(200);
    expect((await call('GET', '/api/notes')).body.meta.total).toBe(1);
    if (ended === 0) rounds += 1;
  }
  // Holds on any machine: a round that waited for the aggregates would have ended after them.
  expect(rounds).toBeGreaterThan(0);
  const responses = await Promise.all(aggregates);
  await expect(viaCode).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  await locker.query('rollback');
  await locker.end();
  for (const { status, body } of responses) {
    expect([status, body.error.code]).toEqual([503, 'UNAVAILABLE']);
    expect(JSON.stringify(body)).not.toMatch(/statement|timeout|select|lock/i);
  }
  const messages = responses.map(({ body }) => body.error.message);
  expect(messages).toContain('These aggregates take too long to compute; add a filter, or group by fewer fields');
  expect((await call('GET', '/api/books/aggregate?group=title')).status).toBe(200);
});
