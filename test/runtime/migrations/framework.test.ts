import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createAllExtensions } from '../../../scripts/framework-app.ts';
import { generate } from '../../../src/cli/migration/generate.ts';
import { readDatabase } from '../../../src/cli/migration/read-database.ts';
import type { AnyResource } from '../../../src/declare/resource.ts';
import { audit, createApp, defineExtension, defineResource, defineUser, f } from '../../../src/index.ts';
import { pgTable, text } from '../../../src/platform/data/postgres/drizzle.ts';
import { readFrameworkMigrations } from '../../../src/runtime/migrations/framework.ts';
import { createMigrationProject, type MigrationProject } from '../../support/database/migration-project.ts';
import { readSchema } from '../../support/database/read-schema.ts';

type Extensions = ReturnType<typeof createAllExtensions>;

const UP_TO_DATE = { ok: true, lines: ['The migrations are up to date with the declarations.'] };
const FRAMEWORK = readFrameworkMigrations();

const ticket = defineResource('ticket', {
  fields: {
    title: f.string().required().max(200).searchable().sortable(),
    status: f.enum(['open', 'closed']).default('open').filterable(),
    tags: f.array(f.string().max(40)).max(10).filterable().searchable(),
    author: f.ref('user').owner(),
  },
  softDelete: true,
});

/** Creates an app on the database of a project. It is closed when the test ends. */
function createAppOn({ env }: MigrationProject, extensions: Extensions, resources: AnyResource[] = [ticket]) {
  const app = createApp({ resources: [defineUser(), ...resources], extensions }, env);
  onTestFinished(() => app.close());
  return app;
}

/** Generates a migration for an app with a resource that has one field, and with audit unless `keepDays` is undefined. */
function generateWithDays(project: MigrationProject, field: string, keepDays: number | undefined, ...args: string[]) {
  const note = defineResource('note', { fields: { [field]: f.string() } });
  const extensions = keepDays === undefined ? [] : ([audit({ keepDays })] as Extensions);
  return generate(createAppOn(project, extensions, [note]), project.folder, args, undefined);
}

async function readKeepDays({ query }: MigrationProject): Promise<number> {
  return (await query('select audit_keep_days() as days'))[0].days;
}

test('the first migration of an app contains only its own tables, and with those of Belfry gives the schema of sync', async () => {
  const [project, synced] = [await createMigrationProject(), await createMigrationProject()];
  const app = createAppOn(project, createAllExtensions());
  expect(await generate(app, project.folder, ['init'], undefined)).toMatchObject({ ok: true });
  const sql = readFileSync(join(project.folder, '0000_init.sql'), 'utf8');
  // Organisations and memberships are resources of the app, which it can extend with fields.
  expect([...sql.matchAll(/CREATE TABLE "(\w+)"/g)].map(([, name]) => name).sort()).toEqual([
    'memberships',
    'organisations',
    'tickets',
    'tickets_deleted',
    'users',
  ]);
  expect(sql).not.toMatch(/audit|webhook|posts/);

  const applied: string[] = [];
  await app.migrate({ mode: 'apply', folder: project.folder, say: (line) => applied.push(line) });
  expect(applied).toEqual([...FRAMEWORK.map(({ name }) => `${name} applied`), '0000_init applied']);
  await createAppOn(synced, createAllExtensions()).migrate({ mode: 'sync' });
  expect(await readSchema(project)).toEqual(await readSchema(synced));
  expect(await readDatabase(project.url, project.folder, 'status')).toEqual([
    ...FRAMEWORK.map(({ name }) => `applied  ${name}`),
    'applied  0000_init',
    '',
    'No migrations are pending.',
  ]);
});

test('an app that adds extensions of Belfry later needs no migration for them, and starts', async () => {
  const project = await createMigrationProject();
  // These change tables of the app: softDelete those of its resources, organisations adds some, and others change the users table.
  const changesTables = ({ name, userFields }: Extensions[number]) =>
    name === 'softDelete' || name === 'organisations' || userFields !== undefined;
  const own = [...createAllExtensions().filter(changesTables)] as Extensions;
  expect(await generate(createAppOn(project, own), project.folder, [], undefined)).toMatchObject({ ok: true });
  await project.apply();
  const app = createAppOn(project, createAllExtensions());
  expect(await generate(app, project.folder, ['--check'], undefined)).toEqual(UP_TO_DATE);
  await app.start({ port: 0, roles: ['web'] });
  await expect(project.query(`insert into audit_anchors values (1, ''); truncate audit_anchors`)).rejects.toThrow(
    'append-only',
  );
});

test('the number of days of audit is the only statement of audit in migrations of the app, and its default can be restored', async () => {
  const project = await createMigrationProject();
  expect(await generateWithDays(project, 'a', 730, 'init')).toMatchObject({ ok: true });
  await project.apply();
  expect(await readKeepDays(project)).toBe(730);
  expect(await generateWithDays(project, 'a', 730, '--check')).toEqual(UP_TO_DATE);

  // Without audit, the function stays, and so does the knowledge that it must be replaced later.
  expect(await generateWithDays(project, 'b', undefined, 'without', '--allow-loss')).toMatchObject({ ok: true });
  expect(await generateWithDays(project, 'b', 365, 'default')).toMatchObject({ ok: true });
  expect(readFileSync(join(project.folder, '0002_default.sql'), 'utf8')).toBe(
    'create or replace function audit_keep_days() returns integer language sql immutable as $$ select 365 $$;\n',
  );
  await project.apply();
  expect(await readKeepDays(project)).toBe(365);
  expect(await generateWithDays(project, 'b', 365, '--check')).toEqual(UP_TO_DATE);
  expect(await generateWithDays(project, 'b', 30, '--check')).toMatchObject({ ok: false });
});

test("a table with the name of one of Belfry's is refused, also if the app does not use its extension", async () => {
  const project = await createMigrationProject();
  const entry = defineResource('auditEntry', { fields: { text: f.string() } });
  await expect(generate(createAppOn(project, [], [entry]), project.folder, [], undefined)).rejects.toThrow(
    'These tables have the names of tables of Belfry:\n  - audit_entries: choose another name',
  );
  const tickets = defineExtension({
    name: 'rail',
    tables: { realtime_tickets: pgTable('realtime_tickets', { id: text('id').primaryKey() }) },
    setup: () => ({}),
  });
  const app = createAppOn(project, [tickets] as never, []);
  await expect(generate(app, project.folder, [], undefined)).rejects.toThrow('- realtime_tickets: choose another name');
});

test("a new migration is later than all of Belfry's, even if the clock of the machine is behind", async () => {
  const project = await createMigrationProject();
  vi.useFakeTimers({ toFake: ['Date'], now: FRAMEWORK[0]!.when });
  onTestFinished(() => {
    vi.useRealTimers();
  });
  await generate(createAppOn(project, createAllExtensions()), project.folder, [], undefined);
  const { entries } = JSON.parse(readFileSync(join(project.folder, 'meta/_journal.json'), 'utf8'));
  expect(entries[0].when).toBe(FRAMEWORK.at(-1)!.when + 1);
});
