// During a deploy, processes with the old code run on the new tables: docs/build/migrations.md, "Deploy without downtime".
import { expect, test } from 'vitest';
import type { Fields } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { createMigrationProject } from '../../support/database/migration-project.ts';

const post = (fields: Fields) => defineResource('post', { fields: { title: f.string(), ...fields } });

/** Migrates from one declaration to another. Returns the services of both, on the new tables. */
async function deploy(oldFields: Fields, newFields: Fields, ...options: string[]) {
  const project = await createMigrationProject();
  await project.change([post(oldFields)]);
  await project.change([post(newFields)], ...options);
  return { old: project.app(post(oldFields)).service('post'), new: project.app(post(newFields)).service('post') };
}

test('a new required field without a default: old code keeps working, and its records have no value', async () => {
  const services = await deploy({}, { v: f.string().required() });
  const { id } = (await services.old.create({ title: 'old' })) as { id: string };
  expect(await services.new.read(id)).not.toHaveProperty('v');
});

test('a new value of an enum: old code returns and updates records with it', async () => {
  const before = f.enum(['open', 'done']).default('open');
  const services = await deploy({ v: before }, { v: f.enum(['open', 'done', 'archived']).default('open') });
  const { id } = (await services.new.create({ title: 'new', v: 'archived' })) as { id: string };
  expect(await services.old.read(id)).toMatchObject({ v: 'archived' });
  expect(await services.old.update(id, { title: 'changed' })).toMatchObject({ title: 'changed', v: 'archived' });
  await expect(services.old.create({ title: 'x', v: 'archived' })).rejects.toMatchObject({ status: 422 });
});

test('a new unique field: a duplicate of old code is a conflict', async () => {
  const services = await deploy({ v: f.string() }, { v: f.string().unique() });
  await services.old.create({ title: 'one', v: 'same' });
  await expect(services.old.create({ title: 'two', v: 'same' })).rejects.toMatchObject({ code: 'CONFLICT' });
});

test('a removed field whose column stays until the next deploy: both keep working', async () => {
  const project = await createMigrationProject();
  await project.change([post({ v: f.string() })]);
  const [before, after] = [project.app(post({ v: f.string() })), project.app(post({}))];
  const { url } = await after.start({ port: 0, roles: ['web'] });
  expect((await fetch(`${url}/readyz`)).status).toBe(200);
  const { id } = (await before.service('post').create({ title: 'old', v: 'x' })) as { id: string };
  expect(await after.service('post').read(id)).toMatchObject({ title: 'old' });
  const created = (await after.service('post').create({ title: 'new' })) as { id: string };
  expect(await before.service('post').read(created.id)).toMatchObject({ title: 'new' });
});

test('a dropped column: old code fails on the resource', async () => {
  const services = await deploy({ v: f.string() }, {}, '--drop', 'posts.v');
  await expect(services.old.create({ title: 'old', v: 'x' })).rejects.toThrow();
  await expect(services.old.list()).rejects.toThrow();
});
