import type { AnyField } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { createMigrationProject, type MigrationProject } from '../../support/database/migration-project.ts';

/** A resource whose field `v` changes. */
export const post = (field: AnyField) => defineResource('post', { fields: { v: field, other: f.string() } });

/** A project that has a record for each value, and one without. */
export async function withValues(field: AnyField, values: readonly unknown[]): Promise<MigrationProject> {
  const project = await createMigrationProject();
  await project.change([post(field)]);
  const app = project.app(post(field));
  for (const v of values) await app.service('post').create({ v });
  await app.service('post').create({ other: 'without a value' });
  return project;
}

/** A resource with a field for each kind (`v0`, `v1`, …). They change in one migration, as each would alone. */
const wide = (kinds: readonly AnyField[]) =>
  defineResource('post', { fields: Object.fromEntries(kinds.map((kind, i) => [`v${i}`, kind])) });

/** A field that changes from one kind to another, with the values that it holds. */
export interface FieldChangeProject {
  from: AnyField;
  to: AnyField;
  values?: readonly unknown[];
}

/** One project in which all fields change together, with records that hold their values and one record without any. */
export async function sideBySide(
  fields: readonly FieldChangeProject[],
  atEnd?: Parameters<typeof createMigrationProject>[0],
) {
  const project = await createMigrationProject(atEnd);
  const [before, after] = [wide(fields.map(({ from }) => from)), wide(fields.map(({ to }) => to))];
  await project.change([before]);
  const posts = project.app(before).service('post');
  const rows = Math.max(0, ...fields.map(({ values = [] }) => values.length));
  for (let row = 0; row <= rows; row++)
    await posts.create(
      Object.fromEntries(fields.flatMap(({ values = [] }, i) => (row < values.length ? [[`v${i}`, values[row]]] : []))),
    );
  return {
    project,
    after,
    /** What `generate` prints about each field: the refusal and its alternatives; nothing for a safe change. */
    async refusals(...given: string[]): Promise<string[][]> {
      const { lines } = await project.generate([after], ...given);
      return fields.map((_, i) => {
        const at = lines.findIndex((line) => line.startsWith(`  - posts.v${i}: `));
        const end = lines.findIndex((line, n) => n > at && !line.startsWith('      '));
        return at < 0 ? [] : lines.slice(at, end < 0 ? undefined : end);
      });
    },
    /** The API’s value of each field, in the records that held a value, in order of creation, and in the one that had none. */
    async values(): Promise<unknown[][]> {
      const { data } = await project.app(after).service('post').list();
      const records = (data as { id: string }[]).sort((a, b) => (a.id < b.id ? -1 : 1)) as Record<string, unknown>[];
      return fields.map(({ values = [] }, i) =>
        records.filter((_, row) => row < values.length || row === rows).map((record) => record[`v${i}`]),
      );
    },
  };
}

/** The command-line option of a proposed conversion: `--using`, `posts.v=…`. */
export function proposed(refusal: readonly string[]): string[] {
  const quoted = /--using "(.*)"$/.exec(refusal[1] ?? '')?.[1];
  return quoted === undefined ? [] : ['--using', quoted.replaceAll('\\"', '"')];
}

/** The API’s value of each record, in order of creation; undefined for a record without a value. */
export async function valuesOf(project: MigrationProject, field: AnyField): Promise<unknown[]> {
  const { data } = await project.app(post(field)).service('post').list();
  return (data as { id: string; v?: unknown }[]).sort((a, b) => (a.id < b.id ? -1 : 1)).map(({ v }) => v);
}
