import { Client } from 'pg';
import { afterAll, expect, onTestFinished, test, vi } from 'vitest';
import { defineResource, defineUser, f, webhooks } from '../../../../../src/index.ts';
import { type Receiver, startReceiver } from '../../../../fakes/receiver.ts';
import { type Person, startTestApp } from '../../../../support/app.ts';

const diary = defineResource('diary', {
  fields: {
    text: f.text(),
    hiddenField: f.string().hidden().default('never'),
    pin: f.string().writeOnly(),
    mood: f.string().visibleTo('owner'),
    note: f.string().visibleTo('admin').writableBy('owner | admin'),
    writer: f.ref('user').owner().populate(),
  },
  policies: { read: 'owner | admin | auditor' },
});
const article = defineResource('article', {
  fields: { title: f.string(), status: f.enum(['draft', 'published']).default('draft') },
  policies: { read: 'public', create: 'authenticated', update: 'authenticated', delete: 'authenticated' },
  scope: ({ user }) => (user?.roles?.includes('admin') ? undefined : { status: 'published' }),
});
const quiet = defineResource('quiet', {
  fields: { title: f.string() },
  policies: { read: 'public', create: 'public' },
  webhooks: false,
});
const puzzle = defineResource('puzzle', {
  fields: { answer: f.string() },
  policies: { create: 'authenticated', read: ({ user, doc }) => doc.answer === user?.name },
});
const seat = defineResource('seat', {
  fields: { holder: f.string(), guard: f.id() },
  policies: {
    create: 'authenticated',
    read: async ({ doc, service }) => doc.guard === undefined || (await service('user').read(doc.guard)) !== undefined,
  },
  scope: async ({ user, service }) => ({ holder: user && (await service('user').read(user.id)).name }),
});

const { app, person } = await startTestApp(
  {
    resources: [defineUser({ roles: ['user', 'admin', 'auditor'] }), diary, article, quiet, puzzle, seat],
    extensions: [webhooks({ retrySchedule: [], pollMs: 100, maxEndpointsPerUser: 50 })],
  },
  { roles: 'all' },
);
const ann = await person('Ann');
const bob = await person('Bob');
const root = await person('Root', ['user', 'admin']);
const auditor = await person('Auditor', ['user', 'auditor']);

const opened: Receiver[] = [];
afterAll(() => Promise.all(opened.map((one) => one.close())));

async function subscribe(who: Person, events: string[], scope: 'own' | 'global' = 'own') {
  const receiver = await startReceiver();
  opened.push(receiver);
  const { status, body } = await who.call('POST', '/api/webhooks', { url: receiver.url, events, scope });
  expect(status).toBe(201);
  return Object.assign(receiver, { id: body.data.id as string });
}

const until = (condition: () => Promise<boolean>) => vi.waitUntil(condition, { timeout: 60_000, interval: 20 });
const data = (receiver: Receiver) => receiver.requests.map(({ body }) => JSON.parse(body).data);

/** Resolves once everything written so far has been delivered to its recipients: a marker event follows it. */
async function settled(): Promise<void> {
  const marker = await subscribe(root, ['diary.created'], 'global');
  await root.call('POST', '/api/diaries', { text: 'marker' });
  await marker.received(1);
  await root.call('DELETE', `/api/webhooks/${marker.id}`);
  for (const { id, who } of watched) {
    await until(async () => {
      const { body } = await who.call('GET', `/api/webhooks/${id}/deliveries`);
      return body.data?.every(({ status }: { status: string }) => status !== 'pending' && status !== 'sending') ?? true;
    });
  }
}
let watched: { id: string; who: Person }[] = [];

test('an endpoint receives only records that its owner may read, with the fields that the owner may see', async () => {
  const mine = await subscribe(ann, ['diary.*']);
  const others = await subscribe(bob, ['diary.*', '*']);
  const admins = await subscribe(root, ['diary.created']);
  const auditors = await subscribe(auditor, ['*']);
  const everything = await subscribe(root, ['diary.created'], 'global');
  watched = [
    { id: everything.id, who: root },
    { id: mine.id, who: ann },
    { id: others.id, who: bob },
    { id: admins.id, who: root },
    { id: auditors.id, who: auditor },
  ];
  const { body } = await ann.call('POST', '/api/diaries', { text: 'dear', mood: 'good', note: 'n', pin: 'door word' });
  const { id } = body.data;
  await settled();
  const read = async (who: Person) => (await who.call('GET', `/api/diaries/${id}`)).body.data;

  const ofAnn = (list: { writer: { id: string } }[]) => list.filter(({ writer }) => writer?.id === ann.id);
  expect(ofAnn(data(mine))).toEqual([await read(ann)]);
  expect(ofAnn(data(admins))).toEqual([await read(root)]);
  expect(ofAnn(data(auditors))).toEqual([await read(auditor)]);
  // The receiver of the other user gets events of users, but none of diaries.
  expect(others.requests.filter(({ body }) => JSON.parse(body).type.startsWith('diary.'))).toEqual([]);
  expect(data(mine)[0]).toMatchObject({ mood: 'good', writer: { id: ann.id, email: ann.email } });
  expect(data(mine)[0]).not.toHaveProperty('note');
  // Hidden fields are hidden from a global endpoint too.
  expect(ofAnn(data(everything))).toEqual([await read(root)]);
  expect(JSON.stringify(data(everything))).not.toContain('door word');
  expect(ofAnn(data(auditors))[0]).not.toHaveProperty('mood');
  for (const receiver of [mine, admins, auditors]) {
    for (const { body: text } of receiver.requests) expect(text).not.toMatch(/hiddenField|never|pin|door word|scrypt/);
  }
});

test('a deleted record is sent in its last state, an updated one in its current state', async () => {
  const mine = await subscribe(ann, ['diary.updated', 'diary.deleted']);
  watched = [{ id: mine.id, who: ann }];
  const { id } = (await ann.call('POST', '/api/diaries', { text: 'one' })).body.data;
  await ann.call('PATCH', `/api/diaries/${id}`, { text: 'two' });
  await mine.received(1);
  await ann.call('DELETE', `/api/diaries/${id}`);
  await mine.received(2);
  expect(mine.requests.map(({ body }) => JSON.parse(body))).toMatchObject([
    { type: 'diary.updated', data: { id, text: 'two' } },
    { type: 'diary.deleted', data: { id, text: 'two' } },
  ]);
});

test('the scope filter of a resource applies to the owner’s view, also for global endpoints', async () => {
  const anybody = await subscribe(bob, ['article.*']);
  const admins = await subscribe(root, ['article.*']);
  const global = await subscribe(root, ['article.*'], 'global');
  watched = [
    { id: anybody.id, who: bob },
    { id: admins.id, who: root },
  ];
  await ann.call('POST', '/api/articles', { title: 'draft' });
  await ann.call('POST', '/api/articles', { title: 'open', status: 'published' });
  await settled();
  const titles = (receiver: Receiver) =>
    data(receiver)
      .map(({ title }) => title)
      .sort();
  expect(titles(anybody)).toEqual(['open']);
  expect(titles(admins)).toEqual(['draft', 'open']);
  expect(titles(global)).toEqual(['draft', 'open']);
});

test('a policy function decides for each record, without a request', async () => {
  const anns = await subscribe(ann, ['puzzle.created']);
  const bobs = await subscribe(bob, ['puzzle.created']);
  watched = [
    { id: anns.id, who: ann },
    { id: bobs.id, who: bob },
  ];
  for (const answer of ['Ann', 'Bob', 'Nobody']) await ann.call('POST', '/api/puzzles', { answer });
  await settled();
  expect(data(anns).map(({ answer }) => answer)).toEqual(['Ann']);
  expect(data(bobs).map(({ answer }) => answer)).toEqual(['Bob']);
});

test('a resource with webhooks: false sends nothing, not even to *', async () => {
  const all = await subscribe(root, ['*'], 'global');
  watched = [{ id: all.id, who: root }];
  await ann.call('POST', '/api/quiets', { title: 'sh' });
  await settled();
  expect(all.requests.some(({ body }) => body.includes('quiet'))).toBe(false);
});

test('an async scope applies to deliveries; a policy whose look-up fails sends nothing and delays no others', async () => {
  const [own, others, global] = [
    await subscribe(ann, ['seat.created']),
    await subscribe(bob, ['seat.created']),
    await subscribe(root, ['seat.created'], 'global'),
  ];
  await app.service('seat').create({ holder: 'Ann', guard: '0123456789abcdef01234567' });
  await app.service('seat').create({ holder: 'Ann' });
  await app.service('seat').create({ holder: 'Root' });
  await own.received(1);
  await global.received(1);
  await settled();
  expect(data(own)).toMatchObject([{ holder: 'Ann' }]);
  expect(data(own)[0]).not.toHaveProperty('guard');
  expect(data(others)).toEqual([]);
  expect(data(global)).toMatchObject([{ holder: 'Root' }]);
});

test('a global endpoint receives every record regardless of the read policy, until its owner loses the role', async () => {
  const boss = await person('Boss', ['user', 'admin']);
  const global = await subscribe(boss, ['puzzle.created'], 'global');
  watched = [{ id: global.id, who: boss }];
  await ann.call('POST', '/api/puzzles', { answer: 'Nobody at all' });
  await global.received(1);
  await app.service('user').update(boss.id, { roles: ['user'] });
  await ann.call('POST', '/api/puzzles', { answer: 'Boss' });
  await settled();
  expect(global.requests).toHaveLength(1);
});

test('a disabled user receives nothing, and the endpoints of a deleted user are removed', async () => {
  const left = await person('Left');
  const gone = await person('Gone');
  const lefts = await subscribe(left, ['article.created']);
  const gones = await subscribe(gone, ['article.created']);
  watched = [];
  await app.service('user').update(left.id, { status: 'disabled' });
  await app.service('user').delete(gone.id);
  await ann.call('POST', '/api/articles', { title: 'x', status: 'published' });
  await settled();
  expect([lefts.requests.length, gones.requests.length]).toEqual([0, 0]);
  await app.service('user').update(left.id, { status: 'active' });
  await ann.call('POST', '/api/articles', { title: 'y', status: 'published' });
  await lefts.received(1);
});

test('a globalPolicy function runs for each event with the current state of the owner', async () => {
  const own = await startTestApp(
    {
      resources: [defineUser(), puzzle],
      extensions: [webhooks({ globalPolicy: ({ user }) => user?.name === 'Chief', pollMs: 100 })],
    },
    { roles: 'all' },
  );
  const sql = new Client(own.env.DATABASE_URL);
  await sql.connect();
  onTestFinished(() => sql.end());
  const [chief, other] = [await own.person('Chief'), await own.person('Other')];
  const receiver = await subscribe(chief, ['puzzle.created'], 'global');
  const tell = (answer: string) => other.call('POST', '/api/puzzles', { answer });
  await tell('one');
  await receiver.received(1);
  await own.app.service('user').update(chief.id, { name: 'Retired' });
  await tell('two');
  await until(async () => (await sql.query('select from outbox')).rowCount === 0);
  await own.app.service('user').update(chief.id, { name: 'Chief' });
  await tell('three');
  await receiver.received(2);
  expect(data(receiver).map(({ answer }) => answer)).toEqual(['one', 'three']);
});

test.each([
  ['a role', 'ops'],
  [
    'a function',
    ({ user }: { user?: { roles?: readonly string[] | null } | undefined }) => user?.roles?.includes('ops') === true,
  ],
  [
    'a function that throws for others',
    ({ user }: { user?: { roles?: readonly string[] | null } | undefined }) => {
      if (!user?.roles?.includes('ops')) throw new Error('who is this?');
      return true;
    },
  ],
])(
  'if globalPolicy is %s, an owner who no longer meets it gets no retries, and gets the rest once they meet it again',
  async (_what, globalPolicy) => {
    const own = await startTestApp(
      {
        resources: [defineUser({ roles: ['user', 'admin', 'ops'] }), puzzle],
        extensions: [webhooks({ globalPolicy, pollMs: 50, retrySchedule: [50, 50, 50] })],
      },
      { roles: 'all' },
    );
    const sql = new Client(own.env.DATABASE_URL);
    await sql.connect();
    onTestFinished(() => sql.end());
    const [chief, other] = [await own.person('Chief', ['user', 'ops']), await own.person('Other')];
    const receiver = await subscribe(chief, ['puzzle.created'], 'global');
    const others = await subscribe(other, ['puzzle.created']);
    let fail = () => {};
    receiver.answer((_request, res) => {
      fail = () => void res.writeHead(500).end();
    }, 204);
    await other.call('POST', '/api/puzzles', { answer: 'one' });
    await receiver.received(1);
    await own.app.service('user').update(chief.id, { roles: ['user'] });
    fail();
    const overdue = 'select from webhook_deliveries where schedule_attempts = 1 and next_attempt_at < now()';
    await until(async () => (await sql.query(overdue)).rowCount === 1);
    for (let i = 1; i <= 5; i++) {
      await other.call('POST', '/api/puzzles', { answer: 'Other' });
      await others.received(i);
    }
    expect(receiver.requests).toHaveLength(1);
    await own.app.service('user').update(chief.id, { roles: ['user', 'ops'] });
    await receiver.received(2);
  },
);
