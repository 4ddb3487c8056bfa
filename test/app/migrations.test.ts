import { isDeepStrictEqual } from 'node:util';
import { expect, test } from 'vitest';
import { lastSnapshot } from '../../scripts/migration/files.ts';
import { app } from '../../src/app/index.ts';
import { takeSnapshot } from '../../src/runtime/migrations/snapshot.ts';

test('migrations/ makes the tables of Belfry itself as they are declared', async () => {
  const { tables, declared } = app({
    NODE_ENV: 'test',
    DATABASE_URL: 'postgres://none/none',
    REDIS_URL: 'redis://none',
  });
  const next = takeSnapshot(tables, declared);
  // Tables of resources are the team's: they may wait for their migration.
  const own = Object.entries(next.tables).filter(([, { name }]) => !declared.tables.has(name));
  const made = lastSnapshot('migrations')!.tables;
  expect(own.length).toBeGreaterThan(10);
  const behind = own.filter(([key, table]) => !isDeepStrictEqual(made[key], table)).map(([key]) => key);
  expect(behind, 'run npm run migration:generate').toEqual([]);
});
