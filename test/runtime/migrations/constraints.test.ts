import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ResourceOptions } from '../../../src/declare/resource.ts';
import { defineResource, f } from '../../../src/index.ts';
import { createMigrationProject, type MigrationProject } from '../../support/database/migration-project.ts';

const fields = {
  court: f.string(),
  startsAt: f.date(),
  endsAt: f.date(),
  status: f.enum(['confirmed', 'cancelled']),
  number: f.integer(),
};
type Constraints = NonNullable<ResourceOptions<typeof fields>['constraints']>;
const booking = (constraints?: Constraints) => [
  defineResource('booking', { fields, ...(constraints && { constraints }) }),
];

const none = booking();
const all = booking((c) => [
  c.exclude(['court', c.range('startsAt', 'endsAt')], { where: { status: 'confirmed' } }),
  c.check('endsAt > startsAt'),
  c.unique(['court', 'number'], { where: { status: { ne: 'cancelled' } } }),
]);

const NAMES = [
  'bookings_court_number_unique',
  'bookings_court_starts_at_ends_at_excl',
  'bookings_ends_at_starts_at_check',
];

/** The definitions of constraints, unique indexes and triggers of a table, by name. */
const readConstraints = async (project: MigrationProject, table = 'bookings') =>
  Object.fromEntries(
    (
      await project.query(
        `select conname as name, pg_get_constraintdef(oid) as is from pg_constraint where conrelid = $1::regclass and contype in ('c', 'x')
         union all select indexrelid::regclass::text, pg_get_indexdef(indexrelid) from pg_index
          where indrelid = $1::regclass and indisunique and not indisprimary
         union all select 'trigger ' || tgname, pg_get_triggerdef(oid) from pg_trigger where tgrelid = $1::regclass and not tgisinternal
         order by 1`,
        [table],
      )
    ).map(({ name, is }) => [name, is]),
  );

const upToDate = ['The migrations are up to date with the declarations.'];
const insert = (project: MigrationProject, values: string) =>
  project.query(`insert into bookings (id, court, starts_at, ends_at, status, number) values ${values}`);

test('constraints of a new table are part of its migration, and sync creates the same ones', async () => {
  const project = await createMigrationProject();
  expect(await project.change(all)).toEqual(['0000_init']);
  const migrated = await readConstraints(project);
  expect(Object.keys(migrated).filter((name) => !name.startsWith('trigger'))).toEqual(NAMES);
  expect((await project.generate(all)).lines).toEqual(upToDate);
  const fresh = await createMigrationProject();
  await fresh.sync(all);
  expect(await readConstraints(fresh)).toEqual(migrated);
});

test('constraints are added to a table with rows, changed and removed, by migrations and by sync alike', async () => {
  const project = await createMigrationProject();
  await project.change(none);
  await insert(project, `('1', 'a', '2027-01-01', '2027-01-02', 'confirmed', 1)`);
  const files = await project.change(all, 'rules');
  expect(files).toEqual(['0001_rules', '0002_rules_indexes']);
  const sql = await Promise.all(files.map((name) => readFile(join(project.folder, `${name}.sql`), 'utf8')));
  expect(sql[0]).toContain('NOT VALID');
  expect(sql[0]).toContain('existing rows that conflict would stop the migration');
  expect(sql[1]).toMatch(/CREATE UNIQUE INDEX CONCURRENTLY[\s\S]*VALIDATE CONSTRAINT/);
  const synced = await createMigrationProject();
  await synced.sync(none);
  await insert(synced, `('1', 'a', '2027-01-01', '2027-01-02', 'confirmed', 1)`);
  await synced.sync(all);
  expect(await readConstraints(synced)).toEqual(await readConstraints(project));
  const changed = booking((c) => [
    c.exclude(['court', c.range('startsAt', 'endsAt', '[]')]),
    c.check(['endsAt >= startsAt', { status: 'cancelled' }]),
  ]);
  await project.change(changed, 'changed');
  await synced.sync(changed);
  const after = await readConstraints(project);
  expect(after[NAMES[1]!]).toContain(`'[]'`);
  expect(after[NAMES[0]!]).toBeUndefined();
  expect(await readConstraints(synced)).toEqual(after);
  await project.change(none, 'removed');
  await synced.sync(none);
  expect(await readConstraints(project)).toEqual({});
  expect(await readConstraints(synced)).toEqual({});
});

test('constraints follow renamed fields, renamed resources and changed types without being lost', async () => {
  const project = await createMigrationProject();
  await project.change(all);
  const renamed = [
    defineResource('reservation', {
      renamedFrom: 'booking',
      fields: {
        place: f.string().renamedFrom('court'),
        from: f.date().renamedFrom('startsAt'),
        to: f.date().renamedFrom('endsAt'),
        status: f.enum(['confirmed', 'cancelled']),
        number: f.number(),
      },
      constraints: (c) => [
        c.exclude(['place', c.range('from', 'to')], { where: { status: 'confirmed' } }),
        c.check('to > from'),
        c.unique(['place', 'number'], { where: { status: { ne: 'cancelled' } } }),
      ],
    }),
  ];
  const [file] = await project.change(renamed, 'renamed');
  const sql = await readFile(join(project.folder, `${file}.sql`), 'utf8');
  expect(sql).toContain('RENAME CONSTRAINT "bookings_ends_at_starts_at_check" TO "reservations_to_from_check"');
  expect(sql).not.toContain('EXCLUDE');
  expect((await project.generate(renamed)).lines).toEqual(upToDate);
  const found = await readConstraints(project, 'reservations');
  expect(Object.keys(found)).toEqual([
    'reservations_place_from_to_excl',
    'reservations_place_number_unique',
    'reservations_to_from_check',
    'trigger reservations_place_from_to_excl',
  ]);
  expect(found['trigger reservations_place_from_to_excl']).toContain('new.place');
  const synced = await createMigrationProject();
  await synced.sync(all);
  await synced.sync(renamed);
  expect(Object.keys(await readConstraints(synced, 'reservations'))).toEqual(Object.keys(found));
});

test('a field of a constraint can be replaced by one of another type', async () => {
  const project = await createMigrationProject();
  const rooms = (type: 'integer' | 'number') => [
    defineResource('room', {
      fields: { house: f.string(), from: f[type](), to: f[type]() },
      constraints: (c) => [c.exclude(['house', c.range('from', 'to')]), c.check('to > from')],
    }),
  ];
  await project.sync(rooms('integer'));
  await project.sync(rooms('number'));
  const found = await readConstraints(project, 'rooms');
  expect(found.rooms_house_from_to_excl).toContain('numrange');
  await project.query('insert into rooms (id, house, "from", "to") values (1, 1, 1, 2.5)');
  await expect(project.query('insert into rooms (id, house, "from", "to") values (2, 1, 2, 3)')).rejects.toThrow(
    'rooms_house_from_to_excl',
  );
});

test.each([
  ['sync', (project: MigrationProject) => project.sync(all)],
  ['a migration', (project: MigrationProject) => project.change(all)],
])('%s names the rows that break a new constraint, and changes nothing', async (how, change) => {
  const project = await createMigrationProject();
  await (how === 'sync' ? project.sync(none) : project.change(none));
  await insert(
    project,
    `('1', 'a', '2027-01-01', '2027-01-05', 'confirmed', 1), ('2', 'a', '2027-01-02', '2027-01-03', 'confirmed', 2)`,
  );
  await expect(change(project)).rejects.toThrow(
    /bookings must meet the constraint bookings_court_starts_at_ends_at_excl, but some rows conflict[\s\S]*find them with: select a."id", b."id"/,
  );
});

test('the query that finds conflicting rows finds them', async () => {
  const project = await createMigrationProject();
  await project.sync(none);
  await insert(
    project,
    `('1', 'a', '2027-01-01', '2027-01-05', 'confirmed', 1), ('2', 'a', '2027-01-02', '2027-01-03', 'confirmed', 2),
     ('3', 'a', '2027-01-02', '2027-01-03', 'cancelled', 3)`,
  );
  const error: Error = await project.sync(all).catch((thrown) => thrown);
  const query = /find them with: (select .*)/.exec(error.message)![1]!.replace('b."id" from', 'b."id" as other from');
  expect(await project.query(query)).toEqual([{ id: '1', other: '2' }]);
  await project.query(`update bookings set ends_at = '2026-01-01' where id = '1'`);
  const broken: Error = await project.sync(booking((c) => [c.check('endsAt > startsAt')])).catch((thrown) => thrown);
  expect(broken.message).toContain('but 1 row breaks it');
  const rows = await project.query(/find them with: (select .*)/.exec(broken.message)![1]!);
  expect(rows).toEqual([{ id: '1' }]);
});

test('an app does not start on a database that lacks a declared constraint', async () => {
  const project = await createMigrationProject();
  await project.change(none);
  await expect(project.app(...all).start({ port: 0, roles: ['web'] })).rejects.toThrow(
    /missing: .*unique index bookings_court_number_unique.*constraint bookings_court_starts_at_ends_at_excl/,
  );
});
