import type { AnyField } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { type Migrating, migrating } from '../../support/migrating.ts';

/** A resource whose field `v` changes. */
export const post = (field: AnyField) => defineResource('post', { fields: { v: field, other: f.string() } });

/** A project that has a record for each value, and one without. */
export async function withValues(field: AnyField, values: readonly unknown[]): Promise<Migrating> {
  const project = await migrating();
  await project.change([post(field)]);
  const app = project.app(post(field));
  for (const v of values) await app.service('post').create({ v });
  await app.service('post').create({ other: 'without a value' });
  return project;
}

/** What the API gives of each record, in the order in which they were made; undefined for one without a value. */
export async function valuesOf(project: Migrating, field: AnyField): Promise<unknown[]> {
  const { data } = await project.app(post(field)).service('post').list();
  return (data as { id: string; v?: unknown }[]).sort((a, b) => (a.id < b.id ? -1 : 1)).map(({ v }) => v);
}
