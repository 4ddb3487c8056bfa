import { expect, test } from 'vitest';
import { createOldKeysSweep } from '../../../src/extensions/api-keys/store.ts';
import type { Executor } from '../../../src/platform/postgres/queryable.ts';
import { startKeysApp } from './app.ts';

const { person, key, query, client } = await startKeysApp();
const executor = {
  write: async ({ text, values }) => (await client.query({ text, values, rowMode: 'array' })).rows,
} as Executor;
const sweep = createOldKeysSweep(executor);
const left = async (user: string) =>
  (await query('select id from api_keys where user_id = $1 order by id', [user])).map(({ id }) => id);

test('revoked and expired keys are removed after 30 days', async () => {
  const ann = await person('Ann');
  const age = async (column: string, days: number) => {
    const { id } = await key(ann);
    await query(`update api_keys set ${column} = now() - $2 * interval '1 day' where id = $1`, [id, days]);
    return id;
  };
  const kept = [
    await age('expires_at', 29.9),
    await age('revoked_at', 29.9),
    (await key(ann)).id,
    await age('created_at', 400),
  ];
  await age('expires_at', 30.1);
  await age('revoked_at', 30.1);
  await sweep.run();
  expect(await left(ann.id)).toEqual(kept);
});

test('one run removes several batches, in bounded statements', async () => {
  const bob = await person('Bob');
  await query(
    `insert into api_keys (id, user_id, key_hash, name, prefix, scopes, expires_at)
     select lpad(to_hex(n), 24, '0'), $1, 'h' || n, 'x', 'svc_ak_000000', '{read}', now() - interval '31 days'
     from generate_series(1, 2500) n`,
    [bob.id],
  );
  const sizes: number[] = [];
  const counting = {
    async write(statement) {
      const rows = await executor.write(statement);
      sizes.push(rows.length);
      return rows;
    },
  } as Executor;
  await createOldKeysSweep(counting).run();
  expect([await left(bob.id), sizes]).toEqual([[], [1000, 1000, 500]]);
});
