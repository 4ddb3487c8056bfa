import { expect, test } from 'vitest';
import type { ResourceGateway, StoredRecord, ViewContext } from '../../../../src/declare/host.ts';
import type { RecordChange } from '../../../../src/extensions/realtime/events/entry.ts';
import { createBroadcast } from '../../../../src/extensions/realtime/fan-out/broadcast.ts';
import { createGroups, type Listener } from '../../../../src/extensions/realtime/fan-out/groups.ts';
import { createVisibleChanges } from '../../../../src/extensions/realtime/fan-out/visible-change.ts';
import { ApiError } from '../../../../src/platform/helpers/errors.ts';

const logged: unknown[] = [];
const log = { error: (fields: unknown) => logged.push(fields) };
const broadcast = createBroadcast(createVisibleChanges({ service: undefined, log } as never));
const recordSubscription = { key: '[]', includes: () => true, mayInclude: async () => true };

/** Creates a gateway to records with an owner, and only the owner sees the note of a record. */
function viewOf(own: Partial<ResourceGateway> = {}): ResourceGateway {
  const shown = ({ id, owner, note }: StoredRecord, user: ViewContext['user']) =>
    owner === user?.id ? { id, note } : { id };
  return {
    name: 'post',
    visibilityKey: (user: ViewContext['user']) => (user === undefined ? '' : 'user'),
    ownersIn: ({ owner }: StoredRecord) => [owner],
    readableBy: async () => true,
    serialize: async (records: StoredRecord[], { user }: ViewContext) => records.map((one) => shown(one, user)),
    ...own,
  } as never;
}

let count = 0;
function changeOf(gateway: ResourceGateway, record: object, previous?: object): RecordChange {
  const id = `${++count}-0`;
  const action = previous === undefined ? 'created' : 'updated';
  return { id, eventId: id, at: '', action, gateway: gateway, record, previous, untold: new Set() } as never;
}

/** Adds a listener with these subscriptions. */
function enter(
  groups: ReturnType<typeof createGroups>,
  gateway: ResourceGateway,
  userId: string | undefined,
  ...texts: string[]
) {
  const heard: string[] = [];
  const subscriptions = texts.map((text) => ({
    text,
    gateway: gateway,
    id: undefined,
    filters: {},
    recordSubscription,
  }));
  const person = { user: userId === undefined ? undefined : { id: userId, roles: [] } };
  const stream = { write: (bytes: Buffer) => heard.push(bytes.toString()) } as never;
  const listener: Listener = { stream, viewer: person, subscriptions };
  groups.addListener(listener);
  const received = () =>
    heard
      .join('')
      .matchAll(/^data: (.*)$/gm)
      .map(([, text]) => JSON.parse(text!))
      .toArray();
  return { listener, told: received };
}

test.each(['ada', 'bob'])(
  'if %s disconnects while a change is being checked, the other viewer still gets what they may see',
  async (gone) => {
    const [going, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const plain = viewOf();
    const gateway = viewOf({
      async serialize(records, viewContext) {
        going.resolve();
        await go.promise;
        return plain.serialize(records, viewContext);
      },
    });
    const groups = createGroups();
    const people = { ada: enter(groups, gateway, 'ada', 'post'), bob: enter(groups, gateway, 'bob', 'post') };
    const change = changeOf(
      gateway,
      { id: '1', owner: 'bob', note: 'of bob' },
      { id: '1', owner: 'ada', note: 'of ada' },
    );
    const sending = broadcast.sendToGroups(groups.findAffectedGroups([change]), [change]);
    await going.promise;
    groups.removeListener(people[gone as 'ada'].listener);
    go.resolve();
    await sending;
    const [received] = people[gone === 'ada' ? 'bob' : 'ada'].told();
    expect([received.data.note, received.previous.note]).toEqual(
      gone === 'ada' ? ['of bob', undefined] : [undefined, 'of ada'],
    );
  },
);

test('viewers with the same visibility are checked once, however many subscriptions they have', async () => {
  let policyCalls = 0;
  let shown = 0;
  const plain = viewOf();
  const gateway = viewOf({
    readableBy: async () => Boolean(++policyCalls),
    serialize(records, viewContext) {
      shown += records.length;
      return plain.serialize(records, viewContext);
    },
  });
  const groups = createGroups();
  const texts = Array.from({ length: 20 }, (_, i) => `post?n[lt]=${i}`);
  const nobody = [0, 1, 2].map((n) => enter(groups, gateway, undefined, ...texts.map((text) => text + n)));
  const [ada, bob] = [enter(groups, gateway, 'ada', ...texts), enter(groups, gateway, 'bob', 'post')];
  const change = changeOf(gateway, { id: '1', owner: 'ada', note: 'of ada' });
  await broadcast.sendToGroups(groups.findAffectedGroups([change]), [change]);
  // One check for anonymous viewers, one for the owner and one for all other signed-in users.
  expect([policyCalls, shown]).toEqual([3, 3]);
  expect(ada.told().map(({ data }) => data.note)).toEqual(texts.map(() => 'of ada'));
  for (const { told: received } of [...nobody, bob])
    expect(received().every(({ data }) => data.note === undefined)).toBe(true);
  expect([...nobody, bob].map(({ told: received }) => received().length)).toEqual([20, 20, 20, 1]);
});

test('other requests run while a policy function is evaluated for a thousand users', async () => {
  const gateway = viewOf({ visibilityKey: (user) => user?.id ?? '' });
  const groups = createGroups();
  for (let i = 0; i < 1000; i++) enter(groups, gateway, `u${i}`, 'post');
  const changes = Array.from({ length: 5 }, (_, i) => changeOf(gateway, { id: String(i), owner: 'x' }));
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  await broadcast.sendToGroups(groups.findAffectedGroups(changes), changes);
  isOver = true;
  expect(turns).toBeGreaterThan(20);
});

test.each([
  ['a query that times out', { code: '57014' }, true],
  ['a policy that throws', {}, true],
  ['a database that is down', { code: '57P01' }, false],
  ['a database with too many connections', { code: '53300' }, false],
])('after the error of %s (%j), the change is skipped or handled again', async (_, error, isShownNothing) => {
  const wrapped = new ApiError('UNAVAILABLE', undefined, { cause: Object.assign(new Error('x'), error) });
  for (const thrown of [wrapped, wrapped.cause]) {
    const gateway = viewOf({ readableBy: () => Promise.reject(thrown) });
    const groups = createGroups();
    const { told: received } = enter(groups, gateway, 'ada', 'post');
    const change = changeOf(gateway, { id: '1' });
    const all = broadcast.sendToGroups(groups.findAffectedGroups([change]), [change]);
    await (isShownNothing ? all : expect(all).rejects.toBe(thrown));
    expect(received()).toEqual([]);
  }
});

test('changes that cannot be serialized together are serialized one by one', async () => {
  const plain = viewOf();
  const gateway = viewOf({
    async serialize(records, viewContext) {
      if (records.some(({ id }) => id === 'bad')) throw new Error('a rule that fails');
      return plain.serialize(records, viewContext);
    },
  });
  const groups = createGroups();
  const { told: received } = enter(groups, gateway, 'ada', 'post');
  const changes = ['1', 'bad', '2'].map((id) => changeOf(gateway, { id }));
  await broadcast.sendToGroups(groups.findAffectedGroups(changes), changes);
  expect(received().map(({ id }) => id)).toEqual(['1', '2']);
});

const postGateway = {
  name: 'post',
  visibilityKey: (user: { roles: string[] } | undefined) => String(user?.roles),
} as unknown as ResourceGateway;
const recordChange = (id: string) => ({ gateway: postGateway, record: { id } }) as never;

function listenerOf(person: Listener['viewer'], ...texts: string[]): Listener {
  const subscriptions = texts.map((text) => {
    const [, id] = text.split('/');
    return { text, gateway: postGateway, id, filters: {}, recordSubscription };
  });
  return { stream: {} as never, viewer: person, subscriptions };
}

const user = (id: string, ...roles: string[]) => ({ user: { id, roles } });

test('viewers who get the same events share a group and a bundle, and others do not', () => {
  const groups = createGroups();
  const listeners = [
    listenerOf(user('a', 'user'), 'post'),
    listenerOf(user('b', 'user'), 'post'),
    listenerOf(user('c', 'admin'), 'post'),
    listenerOf({ user: undefined }, 'post'),
  ];
  for (const one of listeners) groups.addListener(one);
  const touched = groups.findAffectedGroups([recordChange('1')]);
  expect(touched.map(({ viewers: people }) => [...people.keys()])).toEqual([['a', 'b'], ['c'], ['']]);
  expect(touched.flatMap(({ bundles }) => [...bundles].map((bundle) => bundle.listeners.size))).toEqual([2, 1, 1]);
});

test('a viewer with changed roles represents the group with the old roles until regrouped', () => {
  const groups = createGroups();
  const person = user('a', 'user');
  const one = listenerOf(person, 'post');
  groups.addListener(one);
  groups.addListener(listenerOf(user('b', 'user'), 'post'));
  person.user = { id: 'a', roles: ['user', 'admin'] };
  const [shared] = groups.findAffectedGroups([recordChange('1')]);
  expect(shared!.viewers.get('a')!.user!.roles).toEqual(['user']);
  groups.removeListener(one);
  groups.addListener(one);
  expect([...shared!.viewers.keys()]).toEqual(['b']);
  expect(groups.findAffectedGroups([recordChange('1')])).toHaveLength(2);
});

test('a change affects only subscribers of its record, and nothing remains of a removed listener', () => {
  const groups = createGroups();
  const [one, two] = [listenerOf(user('a'), 'post/1'), listenerOf(user('a'), 'post/2', 'post/1')];
  groups.addListener(one);
  groups.addListener(two);
  expect(groups.findAffectedGroups([recordChange('1')]).map(({ text }) => text)).toEqual(['post/1']);
  expect(groups.findAffectedGroups([recordChange('3')])).toEqual([]);
  groups.removeListener(one);
  expect(groups.findAffectedGroups([recordChange('1')])).toHaveLength(1);
  groups.removeListener(two);
  groups.removeListener(two);
  expect([groups.size, groups.findAffectedGroups([recordChange('1'), recordChange('2')])]).toEqual([0, []]);
});
