// What is in the files of an export, also if records change or rules fail while it is made.
import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { defineResource, defineUser, f, privacy, softDelete } from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';
import { exportOf, fetched, finished, startPrivacyApp } from './app.ts';

const running = await startPrivacyApp();
const { app, env, person } = running;
const client = new Client({ connectionString: env.DATABASE_URL! });
await client.connect();
afterAll(() => client.end());

const TIMES = { createdAt: expect.any(String), updatedAt: expect.any(String) };

test('own records are exported decrypted, with all personal fields and deleted records marked, without secrets; the manifest lists omitted fields', async () => {
  const ada = await person('Ada');
  const bob = await person('Bob');
  const diaries = app.service('diary');
  const values = { iban: 'DE02 1203', remark: 'boring', diagnosis: 'flu', mood: 'good', nickname: 'Adi', inner: 'x' };
  const kept = await diaries.create({ text: 'kept', author: ada.id, ...values } as never);
  const deletedDiary = await diaries.create({ text: 'gone', author: ada.id } as never);
  await diaries.delete(deletedDiary.id);
  await diaries.create({ text: 'of Bob', author: bob.id } as never);
  await app
    .service('user')
    .update(ada.id, { phone: '+49 170', resetPhoneToken: 'r3set', totpSeed: 's33d', score: 7 } as never);

  const files = await exportOf(ada, running);
  const { remark: _, inner: __, ...visibleValues } = values;
  expect(files['records/diaries.ndjson']).toEqual([
    { id: kept.id, text: 'kept', author: ada.id, ...visibleValues, ...TIMES },
    { id: deletedDiary.id, text: 'gone', author: ada.id, ...TIMES, deletedAt: expect.any(String) },
  ]);
  expect(files['records/users.ndjson']).toEqual([
    { id: ada.id, name: 'Ada', email: ada.email, roles: ['user'], status: 'active', phone: '+49 170', ...TIMES },
  ]);
  const { files: listed, ...about } = files['manifest.json'];
  expect(about).toEqual({ format: 1, user: ada.id, requestedAt: expect.any(String), madeAt: expect.any(String) });
  expect(listed).toContainEqual({
    file: 'records/diaries.ndjson',
    holds: 'diary',
    description: 'What somebody wrote',
    records: 2,
    deleted: 1,
    leftOut: ['inner', 'remark'],
    unreadable: 0,
  });
  expect(listed.find(({ holds }: { holds: string }) => holds === 'user').leftOut).toEqual([
    'password',
    'resetPhoneToken',
    'totpSeed',
    'score',
  ]);
  expect(Object.keys(files).sort()).toEqual(
    ['manifest.json', ...listed.map(({ file }: { file: string }) => file)].sort(),
  );
});

test('records of others that reference the user are exported if the user may read them, or always if the reference is marked as personal', async () => {
  const ada = await person('Ada');
  const bob = await person('Bob');
  const tasks = app.service('task');
  const owner = bob.id;
  const readable = await tasks.create({ title: 'shared', assignee: ada.id, estimate: 3, owner } as never);
  const hidden = await tasks.create({ title: 'fire Ada', assignee: ada.id, secretive: true, owner } as never);
  const watched = await tasks.create({ title: 'watched', watchers: [bob.id, ada.id], owner } as never);
  await tasks.create({ title: 'watched in secret', watchers: [ada.id], secretive: true, owner } as never);
  await tasks.create({ title: 'reported', reporter: ada.id, owner } as never);
  const votes = [{ of: bob.id }, { of: ada.id }];
  const reviewed = await tasks.create({ title: 'reviewed', review: { by: bob.id, votes }, owner } as never);
  await tasks.create({ title: 'of Bob alone', review: { votes: [{ of: bob.id, note: ada.id }] }, owner } as never);
  await tasks.create({ title: 'of nobody', owner } as never);
  await tasks.create({ title: 'own', owner: ada.id, assignee: ada.id } as never);

  const files = await exportOf(ada, running);
  expect(files['records/tasks.ndjson']).toMatchObject([{ title: 'own' }]);
  expect(files['named-in/tasks.ndjson']).toEqual([
    { id: readable.id, title: 'shared', assignee: ada.id, owner, ...TIMES, namedIn: ['assignee'] },
    { id: hidden.id, ...TIMES, namedIn: ['assignee'] },
    { id: watched.id, ...TIMES, namedIn: ['watchers'] },
    { id: reviewed.id, ...TIMES, namedIn: ['review'] },
  ]);
});

test('sessions, keys and endpoints are exported, and an export contains no secrets', async () => {
  const ada = await person('Ada');
  const key = (await ada.call('POST', '/api/auth/api-keys', { name: 'script' })).body.data.key;
  const hook = (await ada.call('POST', '/api/webhooks', { url: 'http://localhost:9/', events: ['task.*'] })).body.data;
  const ready = await finished(ada.call);
  const files = await fetched(ready.url, running);
  expect(files['account/sessions.ndjson']).toMatchObject([{ ip: '127.0.0.1', userAgent: 'node' }]);
  expect(files['account/api-keys.ndjson']).toMatchObject([{ name: 'script', status: 'active' }]);
  expect(files['account/webhook-endpoints.ndjson']).toMatchObject([{ id: hook.id, url: 'http://localhost:9/' }]);
  const { rows } = await client.query(
    `select u.password, s.token_hash, k.key_hash from users u join sessions s on s.user_id = u.id
     join api_keys k on k.user_id = u.id where u.id = $1`,
    [ada.id],
  );
  const text = JSON.stringify(files);
  const secrets = [
    ada.token,
    key,
    hook.secret,
    'correct horse',
    ready.url.split('/').at(-1),
    ...Object.values(rows[0]),
  ];
  expect(secrets.filter((secret) => text.includes(String(secret).slice(0, 60)))).toEqual([]);
});

test('two resources with the same plural are exported to separate files', async () => {
  const ada = await person('Ada');
  await app.service('datum').create({ a: 'one', author: ada.id } as never);
  await app.service('data').create({ a: 'all', author: ada.id } as never);
  const files = await exportOf(ada, running);
  expect(files['records/data.ndjson']).toMatchObject([{ a: 'one' }]);
  expect(files['records/data-2.ndjson']).toMatchObject([{ a: 'all' }]);
});

test('audit entries of the user’s own actions contain no values that the user may not see', async () => {
  const ada = await person('Ada');
  await ada.call('POST', '/api/diaries', { text: 'x', remark: 'boring' });
  await vi.waitFor(
    async () => {
      const { rows } = await client.query(`select 1 from audit_entries where user_id = $1 and resource = 'diary'`, [
        ada.id,
      ]);
      expect(rows).toHaveLength(1);
    },
    { timeout: 60_000, interval: 100 },
  );
  const visibleValues = (await exportOf(ada, running))['account/audit-entries.ndjson'];
  expect(visibleValues.find(({ resource }: { resource: string }) => resource === 'diary').changes).toMatchObject({
    text: { to: 'x' },
    remark: { changed: true },
  });
});

test('a value that was altered in the database is left out, and the manifest says so', async () => {
  const ada = await person('Ada');
  await app.service('diary').create({ text: 'x', iban: 'DE1', mood: 'good', author: ada.id } as never);
  await client.query(`update diaries set iban = overlay(iban placing 'AAAA' from length(iban) - 3) where author = $1`, [
    ada.id,
  ]);
  const files = await exportOf(ada, running);
  expect(files['records/diaries.ndjson']).toMatchObject([{ text: 'x', mood: 'good' }]);
  expect(files['records/diaries.ndjson'][0]).not.toHaveProperty('iban');
  expect(files['manifest.json'].files).toContainEqual(expect.objectContaining({ holds: 'diary', unreadable: 1 }));
});

let meanwhile: (() => Promise<unknown>) | undefined;

/** Called for each record that the export has read; runs `meanwhile` once. */
async function sees(): Promise<boolean> {
  const work = meanwhile;
  meanwhile = undefined;
  await work?.();
  return true;
}

const fields = { title: f.string(), remark: f.string().visibleTo(sees), author: f.ref('user').owner() };

test.each([true, false])(
  'a record that is deleted or restored during an export is in it exactly once; timestamps: %s',
  async (timestamps) => {
    const note = defineResource('note', { fields, timestamps, softDelete: true });
    const own = await startTestApp(
      { resources: [defineUser(), note], extensions: [privacy(), softDelete()] },
      { roles: 'all' },
    );
    const ada = await own.person('Ada');
    const made = async (title: string) => (await ada.call('POST', '/api/notes', { title })).body.data.id as string;
    const ids = {
      live: await made('live'),
      going: await made('going'),
      back: await made('back'),
      gone: await made('gone'),
    };
    for (const id of [ids.back, ids.gone]) await ada.call('DELETE', `/api/notes/${id}`);
    const statuses: number[] = [];
    meanwhile = async () => {
      statuses.push((await ada.call('POST', `/api/notes/${ids.back}/restore`)).status);
      statuses.push((await ada.call('DELETE', `/api/notes/${ids.going}`)).status);
    };

    const files = await exportOf(ada, own);
    expect(statuses).toEqual([200, 204]);
    const exportedTitles = files['records/notes.ndjson'].map(({ title }: { title: string }) => title);
    expect(exportedTitles.sort()).toEqual(['back', 'going', 'gone', 'live']);
    const deleted = files['records/notes.ndjson'].filter((one: object) => 'deletedAt' in one);
    expect(deleted.map(({ title }: { title: string }) => title).sort()).toEqual(['back', 'gone']);
    expect(deleted[0].deletedAt).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  },
);

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

test('an export completes if visibleTo, policy or scope functions throw: it omits what they decide on, and the log names them', async () => {
  let lines: string[] = [];
  const written = vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    lines.push(String(chunk));
    return true;
  });
  onTestFinished(() => written.mockRestore());
  const own = await startTestApp(
    { resources: [defineUser(), note, judged, scoped], extensions: [privacy()] },
    { roles: 'all', env: () => ({ LOG_LEVEL: 'error' }) },
  );
  const { app, person } = own;
  const [ada, bob] = [await person('Ada'), await person('Bob')];
  const first = await app.service(note).create({ title: 'mine', grade: 'A', author: ada.id });
  const of = { watcher: ada.id, author: bob.id };
  await app.service(judged).create({ title: 'asks the request', ...of });
  const open = await app.service(judged).create({ title: 'open', ...of });
  await app.service(scoped).create({ title: 'shown', ...of });
  lines = [];

  const files = await exportOf(ada, own);
  expect(files['records/notes.ndjson']).toEqual([expect.objectContaining({ id: first.id, title: 'mine' })]);
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
