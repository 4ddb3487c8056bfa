import { expect, test } from 'vitest';
import type { ResourceGateway } from '../../../src/declare/host.ts';
import { createGroups, type Listener } from '../../../src/extensions/realtime/groups.ts';

const gateway = {
  name: 'post',
  visibilityKey: (user: { roles: string[] } | undefined) => String(user?.roles),
} as unknown as ResourceGateway;
const following = { key: '[]', includes: () => true, mayInclude: () => true };
const change = (id: string) => ({ gateway: gateway, record: { id } }) as never;

function listenerOf(person: Listener['person'], ...texts: string[]): Listener {
  const subscriptions = texts.map((text) => {
    const [, id] = text.split('/');
    return { text, gateway: gateway, id, filters: {}, following };
  });
  return { stream: {} as never, person, subscriptions };
}

const user = (id: string, ...roles: string[]) => ({ user: { id, roles } });

test('those who are told the same share a group and a bundle; others do not', () => {
  const groups = createGroups();
  const listeners = [
    listenerOf(user('a', 'user'), 'post'),
    listenerOf(user('b', 'user'), 'post'),
    listenerOf(user('c', 'admin'), 'post'),
    listenerOf({ user: undefined }, 'post'),
  ];
  for (const one of listeners) groups.add(one);
  const touched = groups.affectedBy([change('1')]);
  expect(touched.map(({ people }) => [...people.keys()])).toEqual([['a', 'b'], ['c'], ['']]);
  expect(touched.flatMap(({ bundles }) => [...bundles].map((bundle) => bundle.listeners.size))).toEqual([2, 1, 1]);
});

test('who has got other roles is looked at as before by those of the group, until sorted anew', () => {
  const groups = createGroups();
  const person = user('a', 'user');
  const one = listenerOf(person, 'post');
  groups.add(one);
  groups.add(listenerOf(user('b', 'user'), 'post'));
  person.user = { id: 'a', roles: ['user', 'admin'] };
  const [shared] = groups.affectedBy([change('1')]);
  expect(shared!.people.get('a')!.user!.roles).toEqual(['user']);
  groups.remove(one);
  groups.add(one);
  expect([...shared!.people.keys()]).toEqual(['b']);
  expect(groups.affectedBy([change('1')])).toHaveLength(2);
});

test('a change touches those who follow its record, and no others; nothing is left of who goes', () => {
  const groups = createGroups();
  const [one, two] = [listenerOf(user('a'), 'post/1'), listenerOf(user('a'), 'post/2', 'post/1')];
  groups.add(one);
  groups.add(two);
  expect(groups.affectedBy([change('1')]).map(({ text }) => text)).toEqual(['post/1']);
  expect(groups.affectedBy([change('3')])).toEqual([]);
  groups.remove(one);
  expect(groups.affectedBy([change('1')])).toHaveLength(1);
  groups.remove(two);
  groups.remove(two);
  expect([groups.size, groups.affectedBy([change('1'), change('2')])]).toEqual([0, []]);
});
