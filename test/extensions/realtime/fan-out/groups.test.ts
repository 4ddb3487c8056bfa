import { expect, test } from 'vitest';
import type { ResourceGateway } from '../../../../src/declare/host.ts';
import { createGroups, type Listener } from '../../../../src/extensions/realtime/fan-out/groups.ts';

const gateway = {
  name: 'post',
  visibilityKey: (user: { roles: string[] } | undefined) => String(user?.roles),
} as unknown as ResourceGateway;
const recordSubscription = { key: '[]', includes: () => true, mayInclude: async () => true };
const change = (id: string) => ({ gateway: gateway, record: { id } }) as never;

function listenerOf(person: Listener['viewer'], ...texts: string[]): Listener {
  const subscriptions = texts.map((text) => {
    const [, id] = text.split('/');
    return { text, gateway: gateway, id, filters: {}, recordSubscription };
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
  const touched = groups.findAffectedGroups([change('1')]);
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
  const [shared] = groups.findAffectedGroups([change('1')]);
  expect(shared!.viewers.get('a')!.user!.roles).toEqual(['user']);
  groups.removeListener(one);
  groups.addListener(one);
  expect([...shared!.viewers.keys()]).toEqual(['b']);
  expect(groups.findAffectedGroups([change('1')])).toHaveLength(2);
});

test('a change affects only subscribers of its record, and nothing remains of a removed listener', () => {
  const groups = createGroups();
  const [one, two] = [listenerOf(user('a'), 'post/1'), listenerOf(user('a'), 'post/2', 'post/1')];
  groups.addListener(one);
  groups.addListener(two);
  expect(groups.findAffectedGroups([change('1')]).map(({ text }) => text)).toEqual(['post/1']);
  expect(groups.findAffectedGroups([change('3')])).toEqual([]);
  groups.removeListener(one);
  expect(groups.findAffectedGroups([change('1')])).toHaveLength(1);
  groups.removeListener(two);
  groups.removeListener(two);
  expect([groups.size, groups.findAffectedGroups([change('1'), change('2')])]).toEqual([0, []]);
});
