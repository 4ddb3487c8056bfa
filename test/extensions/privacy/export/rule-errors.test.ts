import { afterAll, expect, test, vi } from 'vitest';
import { defineResource, defineUser, f, privacy } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { exportOf } from './app.ts';

const note = defineResource('note', {
  fields: {
    title: f.string(),
    // Written for requests, so it throws in a job, which has no request.
    grade: f.string().visibleTo(({ req }) => req!.headers['x-grade'] === 'yes'),
    author: f.ref('user').owner(),
  },
});
const named = (name: string) => ({
  fields: { title: f.string(), watcher: f.ref('user'), author: f.ref('user').owner() },
  collection: name,
});
const judged = defineResource('judged', {
  ...named('judged'),
  policies: { read: ({ doc, req }) => doc.title !== 'asks the request' || req!.headers['x-grade'] === 'yes' },
});
const scoped = defineResource('scoped', {
  ...named('scoped'),
  policies: { read: 'public' },
  scope: ({ req }) => (req!.headers['x-grade'] === 'yes' ? undefined : { title: 'shown' }),
});

let lines: string[] = [];
const written = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
  lines.push(String(chunk));
  return true;
});
afterAll(() => written.mockRestore());
const running = await startTestApp(
  { resources: [defineUser(), note, judged, scoped], extensions: [privacy()] },
  { roles: 'all', env: () => ({ LOG_LEVEL: 'error' }) },
);
const { app, person } = running;

test('an export completes if visibleTo, policy or scope functions throw: it omits what they decide on, and the log names them', async () => {
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const own = await app.service(note).create({ title: 'mine', grade: 'A', author: ada.id });
  const of = { watcher: ada.id, author: bob.id };
  await app.service(judged).create({ title: 'asks the request', ...of });
  const open = await app.service(judged).create({ title: 'open', ...of });
  await app.service(scoped).create({ title: 'shown', ...of });
  lines = [];

  const files = await exportOf(ada, running);
  expect(files['records/notes.ndjson']).toEqual([expect.objectContaining({ id: own.id, title: 'mine' })]);
  expect(files['records/notes.ndjson'][0]).not.toHaveProperty('grade');
  expect(files['named-in/judgeds.ndjson']).toEqual([expect.objectContaining({ id: open.id, namedIn: ['watcher'] })]);
  expect(files['named-in/scopeds.ndjson'] ?? []).toEqual([]);
  const rules = lines.map((line) => JSON.parse(line)).filter(({ rule }) => rule !== undefined);
  expect(rules.map(({ resource, rule, field }) => [resource, rule, field])).toEqual(
    expect.arrayContaining([
      ['note', 'visibleTo', 'grade'],
      ['judged', 'policies.read', undefined],
      ['scoped', 'scope', undefined],
    ]),
  );
});
