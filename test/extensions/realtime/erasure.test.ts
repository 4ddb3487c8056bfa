import { expect, test } from 'vitest';
import { defineResource, defineUser, f, privacy, realtime, softDelete } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { type Listening, ready } from './listen.ts';

const city = () => f.string().filterable().pii();
const open = { list: 'public', read: 'public', create: 'authenticated' } as const;
const own = { list: 'owner | admin', read: 'owner | admin', create: 'authenticated' } as const;
const name = f.string().filterable();
const author = f.ref('user').owner();

const pet = defineResource('pet', {
  fields: { city: city(), land: f.string().required().default('none').filterable().pii(), name, author },
  policies: open,
  onOwnerDelete: 'anonymize',
});
const toy = defineResource('toy', {
  fields: { city: city(), note: f.string().filterable().visibleTo('owner').pii(), name, author },
  policies: open,
  softDelete: true,
});
const diary = defineResource('diary', { fields: { city: city(), name, author }, policies: own });
const mark = defineResource('mark', { fields: { name }, policies: open });

const { app, url, person } = await startTestApp({
  resources: [defineUser(), pet, toy, diary, mark],
  extensions: [realtime(), privacy(), softDelete()],
});
const bob = await person('Bob');

/** The changes that a stream was told of by now, without what stands beside them. */
async function told(...streams: Listening[]): Promise<object[][]> {
  const { id } = await app.service('mark').create({ name: 'last' });
  await Promise.all(streams.map((stream) => stream.wait((one) => one.data?.id === id)));
  const lists = streams.map((stream) => stream.changes().filter(({ event }) => event !== 'mark.created'));
  return lists.map((list) =>
    list.map(({ event, data: { id: of, data, previous } }) => ({ event, of, data, previous })),
  );
}

const streamOf = (...subscriptions: string[]) =>
  ready(url, ['mark', ...subscriptions].map((one) => `subscribe=${encodeURIComponent(one)}`).join('&'), bob);

test('who filters by what an erasure empties is told, by its id alone, of a record that may have left the filter', async () => {
  const ann = await person('Ann');
  const make = async (path: string, values: object) =>
    (await ann.call('POST', `/api/${path}`, values)).body.data.id as string;
  const first = await streamOf('mark');
  const [pets, toys] = [
    await make('pets', { city: 'Paris', land: 'FR', name: 'p' }),
    await make('toys', { city: 'Paris', name: 't', note: 'n' }),
    await make('diaries', { city: 'Paris', name: 'd' }),
  ];
  await told(first);
  const after = first.lastId();

  const asked = [
    ['pet?city=Paris', 'toy?city=Paris', 'diary?city=Paris'],
    ['pet?city=Paris&name=p', 'toy?city[in]=Oslo,Paris&name=t'],
    ['pet?city=Paris&name=x', 'toy?city=Paris&name=x'],
    ['pet?land=none', `pet/${pets}`],
    ['toy?note=n'],
    ['toy'],
  ];
  const streams: Listening[] = [];
  for (const subscriptions of asked) streams.push(await streamOf(...subscriptions));
  expect((await ann.call('POST', '/api/auth/me/erase', { password: 'correct horse battery' })).status).toBe(202);
  await Promise.all([streams[3]!.named('pet.updated'), streams[5]!.named('toy.deleted')]);

  const [filtered, narrower, others, emptied, hidden, plain] = await told(...streams);
  const left = { event: 'pet.left', of: pets, data: undefined, previous: undefined };
  const gone = { event: 'toy.deleted', of: toys, data: undefined, previous: undefined };
  expect(filtered).toEqual([left, gone]);
  expect(narrower).toEqual([left, gone]);
  expect(others).toEqual([]);
  const now = expect.objectContaining({ id: pets, land: 'none', name: 'p' });
  expect(emptied).toEqual([
    { event: 'pet.updated', of: pets, data: now, previous: undefined },
    { event: 'pet.updated', of: pets, data: now, previous: expect.objectContaining({ id: pets, name: 'p' }) },
  ]);
  expect(hidden).toEqual([]);
  expect(plain).toEqual([{ ...gone, data: expect.objectContaining({ id: toys, name: 't' }) }]);

  // Who comes back is told the same.
  const query = ['pet?city=Paris', 'mark'].map((one) => `subscribe=${encodeURIComponent(one)}`).join('&');
  const back = await ready(url, query, { ...bob, after });
  expect((await told(back))[0]).toEqual([left]);
  const values = [...streams, back].flatMap((one) => one.changes().map(({ data }) => [data.data, data.previous]));
  expect(JSON.stringify(values)).not.toMatch(/Paris|FR/);
});
