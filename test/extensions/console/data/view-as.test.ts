import { describe, expect, test } from 'vitest';
import { adminConsole, defineResource, defineUser, f, organisations, tenant } from '../../../../src/index.ts';
import { type Client, startTestApp } from '../../../support/app.ts';

const RULES = {
  open: f.string(),
  forOwner: f.string().visibleTo('owner'),
  forAdmin: f.string().visibleTo('admin'),
  forOwnerAndAdmin: f.string().visibleTo('owner | admin'),
  forEditors: f.string().visibleTo('editor'),
  forSignedIn: f.string().visibleTo('authenticated'),
  forNobody: f.string().visibleTo('none'),
  byFunction: f.string().visibleTo(({ user }) => user?.name === 'Eve'),
  byFilter: f.string().visibleTo(({ user }) => ({ reader: user?.id ?? null })),
  kept: f.string().hidden(),
  given: f.string().writeOnly(),
};
const shelf = defineResource('shelf', {
  fields: { label: f.string().required() },
  policies: { list: 'public', read: 'admin', reference: 'admin' },
});
const note = defineResource('note', {
  fields: {
    ...RULES,
    sealed: f.string().encrypted(),
    archived: f.boolean().default(false),
    reader: f.ref('user'),
    shelf: f.ref('shelf').populate(),
    author: f.ref('user').owner(),
  },
  policies: {
    list: ['owner | admin', ({ user }) => ({ reader: user?.id ?? null })],
    read: ['owner | admin', byReader],
  },
  scope: ({ user }) => (user?.roles?.includes('admin') ? undefined : { archived: false }),
});
const inbox = defineResource('inbox', {
  fields: { text: f.string() },
  policies: { list: 'public', read: 'public', create: 'public' },
  crud: ['create'],
});
const folder = defineResource('folder', {
  fields: { organisation: tenant(), name: f.string().required() },
});

function byReader({ user, doc }: { user: { id: string } | undefined; doc: { reader?: string } }) {
  return user !== undefined && doc.reader === user.id;
}

const { app, call, person } = await startTestApp({
  resources: [defineUser({ roles: ['editor'] }), shelf, note, inbox, folder],
  extensions: [organisations(), adminConsole()],
});
const owner = await person('Ada');
const admin = await person('Root', ['user', 'admin']);
const editor = await person('Ed', ['user', 'editor']);
const eve = await person('Eve');
const viewers: [name: string, as: string, client: Client][] = [
  ['a visitor', 'visitor', call],
  ['the owner', owner.id, owner.call],
  ['an administrator', admin.id, admin.call],
  ['an editor', editor.id, editor.call],
  ['another user', eve.id, eve.call],
];
const oak = await app.service('shelf').create({ label: 'Oak' });
const values = Object.fromEntries(Object.keys(RULES).map((name) => [name, `the value of ${name}`]));
const notes = [
  await app.service('note').create({ ...values, sealed: 'sealed text', author: owner.id, shelf: oak.id }),
  await app.service('note').create({ ...values, author: owner.id, reader: eve.id }),
  await app.service('note').create({ ...values, author: editor.id, reader: eve.id, archived: true }),
  await app.service('note').create({ author: eve.id }),
];

/** The records of a response, with encrypted values replaced as in the console. */
function masked(data: Record<string, unknown>): Record<string, unknown> {
  return 'sealed' in data ? { ...data, sealed: { $secret: true, isSet: true } } : data;
}

const readConsole = (path: string, as: string) => call('GET', `/console/api/records/${path}?as=${as}`);

describe.each(viewers)('the view of %s', (_, as, client) => {
  test('has the records and fields of the list that the API returns', async () => {
    const shown = await readConsole('note', as);
    const { status, body } = await client('GET', '/api/notes');
    expect(shown.body.data).toEqual(status === 200 ? body.data.map(masked) : []);
    if (status !== 200) expect(shown.body.meta.refused).toMatchObject({ status, code: body.error.code });
  });

  test.each(notes.map(({ id }, i) => [i, id]))(
    'has the fields of record %i that the API returns, or explains why there are none',
    async (i, id) => {
      const shown = await readConsole(`note/${id}`, as);
      const { status, body } = await client('GET', `/api/notes/${id}`);
      const { canRead, canList, why, hidden } = shown.body.meta;
      expect(canRead).toBe(status === 200);
      expect(shown.body.data).toEqual(status === 200 ? masked(body.data) : null);
      const list = await client('GET', '/api/notes');
      const listed = list.status === 200 && list.body.data.some((one: { id: string }) => one.id === id);
      expect(canList).toBe(listed);
      expect(why).toMatch(
        status === 200 ? /policies\.read: owner \| admin \| function allows/ : /scope filter|policies/,
      );
      if (status !== 200) return;
      const missing = Object.keys(RULES).filter(
        (name) => (notes[i] as Record<string, unknown>)[name] !== undefined && !(name in body.data),
      );
      const explained = hidden.map(({ field }: { field: string }) => field);
      expect(explained).toEqual(expect.arrayContaining(missing));
      for (const name of Object.keys(body.data)) if (name !== 'shelf') expect(explained).not.toContain(name);
    },
  );
});

test('each hidden field comes with the rule that hides it', async () => {
  const { body } = await readConsole(`note/${notes[0]!.id}`, owner.id);
  expect(body.meta.hidden).toEqual([
    { field: 'forAdmin', rule: 'visibleTo: admin' },
    { field: 'forEditors', rule: 'visibleTo: editor' },
    { field: 'forNobody', rule: 'visibleTo: none' },
    { field: 'byFunction', rule: 'visibleTo: function' },
    { field: 'byFilter', rule: 'visibleTo: function' },
    { field: 'kept', rule: 'hidden' },
    { field: 'given', rule: 'writeOnly' },
    { field: 'shelf', rule: 'the reference policy of shelf (admin), or the record does not exist' },
  ]);
});

test('the scope filter, the read policy and the list policy are told apart', async () => {
  const why = async (id: string, as: string) => (await readConsole(`note/${id}`, as)).body.meta.why;
  expect(await why(notes[2]!.id, eve.id)).toBe('The scope filter of note hides the record');
  expect(await why(notes[0]!.id, eve.id)).toBe(
    'policies.read: owner | admin | function does not allow this viewer. policies.list: owner | admin | function leaves the record out of lists',
  );
});

test('records that the API has no routes for are in no view, whatever the policies', async () => {
  const { id } = await app.service('inbox').create({ text: 'a message' });
  expect((await readConsole('inbox', 'system')).body.data).toHaveLength(1);
  const list = await readConsole('inbox', admin.id);
  expect([list.body.data, list.body.meta.why]).toEqual([[], 'The resource has no list']);
  const { body } = await readConsole(`inbox/${id}`, admin.id);
  expect(body.data).toBeNull();
  expect(body.meta).toMatchObject({ canRead: false, canList: false });
  expect(body.meta.why).toBe('The resource has no route that reads a record. The resource has no list');
});

test('references are named in a view as far as the viewer may read the records to which they lead', async () => {
  const labels = async (path: string, as: string) => (await readConsole(path, as)).body.meta.labels;
  const path = `note/${notes[0]!.id}`;
  expect(await labels(path, 'system')).toEqual({ shelf: { [oak.id]: 'Oak' }, user: { [owner.id]: 'Ada' } });
  expect(await labels(path, admin.id)).toEqual({ shelf: { [oak.id]: 'Oak' }, user: { [owner.id]: 'Ada' } });
  expect(JSON.stringify(await labels(path, owner.id))).not.toContain('Oak');
  expect((await labels('note', owner.id)).user).toMatchObject({ [owner.id]: 'Ada' });
  expect(await labels('note', 'visitor')).toEqual({ shelf: {}, user: {} });
});

test('encrypted values stay masked in every view', async () => {
  for (const as of ['system', owner.id, admin.id]) {
    expect(JSON.stringify((await readConsole('note', as)).body)).not.toContain('sealed text');
    expect(JSON.stringify((await readConsole(`note/${notes[0]!.id}`, as)).body)).not.toContain('sealed text');
  }
});

test('the view of a member has the records of their organisations', async () => {
  const create = async (client: Client, name: string) =>
    (await client('POST', '/api/organisations', { name })).body.data.id as string;
  const [first, second] = [await create(owner.call, 'First'), await create(eve.call, 'Second')];
  await app.service('folder').createMany([
    { name: 'One', organisation: first },
    { name: 'Two', organisation: second },
  ]);
  const names = async (as: string) =>
    (await readConsole('folder', as)).body.data.map(({ name }: { name: string }) => name);
  expect((await names('system')).toSorted()).toEqual(['One', 'Two']);
  expect(await names(owner.id)).toEqual(['One']);
  expect(await names(eve.id)).toEqual(['Two']);
  expect(await names(editor.id)).toEqual([]);
});

test('a view uses only the filters that the API offers to the viewer', async () => {
  expect((await readConsole('note', `${owner.id}&open=x`)).status).toBe(400);
  expect((await readConsole('note', `${owner.id}&sort=forAdmin`)).status).toBe(400);
});

test('the headers of the console request do not reach the rules of the viewer', async () => {
  const read = (headers: Record<string, string>) =>
    call('GET', `/console/api/records/folder?as=${owner.id}`, undefined, headers);
  expect((await read({ 'x-organisation': 'elsewhere' })).body.data).toHaveLength(1);
});

test.each(['nobody', '__proto__', '5f0000000000000000000000'])('the viewer %s is refused', async (as) => {
  const { status, body } = await readConsole('note', as);
  expect([status, Object.keys(body.error.details)]).toEqual([422, ['as']]);
});

test('a disabled user has no view, because the API refuses all of their requests', async () => {
  const former = await person('Former');
  await app.service('user').update(former.id, { status: 'disabled' });
  expect((await former.call('GET', '/api/shelves')).status).toBe(401);
  const { status, body } = await readConsole('shelf', former.id);
  expect([status, body.error.details.as]).toEqual([422, expect.stringContaining('not active')]);
});
