import pg from 'pg';
import { expect, test } from 'vitest';
import { defineResource, defineUser, f } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const open = { list: 'public', read: 'public', create: 'public', update: 'public', delete: 'public' } as const;
const group = defineResource('group', {
  fields: { parent: f.ref('group', { onDelete: 'cascade' }), friend: f.ref('group', { onDelete: 'setNull' }) },
  policies: open,
});
const item = defineResource('item', {
  fields: { group: f.ref('group', { onDelete: 'cascade' }), tags: f.refs('tag') },
  policies: open,
});
const tag = defineResource('tag', { fields: { name: f.string() }, policies: open });
const { app, call, env } = await startTestApp({ resources: [defineUser(), group, item, tag] });

async function query(text: string) {
  const client = new pg.Client(env.DATABASE_URL);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

const countDangling = async () =>
  (
    await query(`select (select count(*)::int from items where "group" is not null and "group" not in (select id from groups)) as groups,
      (select count(*)::int from items, unnest(tags) t(id) where t.id not in (select id from tags)) as tags`)
  )[0];

test('a record that is created while its target is deleted is refused or deleted, never left behind', async () => {
  for (let round = 0; round < 8; round++) {
    const groups = await Promise.all([1, 2].map(() => app.service('group').create({})));
    const tags = await Promise.all([1, 2].map(() => app.service('tag').create({})));
    const responses = await Promise.all([
      ...Array.from({ length: 12 }, (_, i) =>
        call('POST', '/api/items', { group: groups[i % 2]!.id, tags: tags.map(({ id }) => id) }),
      ),
      ...groups.map(({ id }) => call('DELETE', `/api/groups/${id}`)),
      ...tags.map(({ id }) => call('DELETE', `/api/tags/${id}`)),
    ]);
    for (const { status } of responses) expect([201, 204, 422]).toContain(status);
  }
  expect(await countDangling()).toEqual({ groups: 0, tags: 0 });
});

test('tags are added to records while they are deleted, and no deleted tag stays in a list', async () => {
  const items = await Promise.all([1, 2, 3].map(() => app.service('item').create({})));
  for (let round = 0; round < 8; round++) {
    const tags = await Promise.all([1, 2, 3].map(() => app.service('tag').create({})));
    const ids = tags.map(({ id }) => id);
    const responses = await Promise.all([
      ...items.flatMap(({ id }) => [ids, ids.toReversed()].map((tags) => call('PATCH', `/api/items/${id}`, { tags }))),
      ...ids.map((id) => call('DELETE', `/api/tags/${id}`)),
    ]);
    for (const { status } of responses) expect([200, 204, 422]).toContain(status);
  }
  expect(await countDangling()).toEqual({ groups: 0, tags: 0 });
});

test('deletions of records that refer to each other do not block each other for good', async () => {
  for (let round = 0; round < 2; round++) {
    const groups = await Promise.all([1, 2, 3].map(() => app.service('group').create({})));
    for (const [i, { id }] of groups.entries())
      await app.service('group').update(id, { parent: groups[(i + 1) % 3]!.id, friend: groups[(i + 2) % 3]!.id });
    const responses = await Promise.all(groups.map(({ id }) => call('DELETE', `/api/groups/${id}`)));
    for (const { status } of responses) expect([204, 404]).toContain(status);
    expect(responses.filter(({ status }) => status === 204).length).toBeGreaterThan(0);
  }
});

test('a refused deletion in a transaction changes nothing, and the transaction can continue', async () => {
  const { id } = await app.service('group').create({});
  await app.service('item').create({ group: id });
  await app.transaction(async (tx) => {
    await tx.service('group').delete(id);
    const other = await tx.service('group').create({});
    await tx.service('item').create({ group: other.id });
    await expect(tx.service('item').create({ group: id })).rejects.toMatchObject({
      details: { group: 'No such group' },
    });
  });
  expect(await countDangling()).toEqual({ groups: 0, tags: 0 });
});
