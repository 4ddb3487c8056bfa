import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { AnyField, Fields } from '../../../src/declare/field.ts';
import { defineResource, f } from '../../../src/index.ts';
import { createMigrationProject } from '../../support/database/migration-project.ts';
import { readResourceSchema } from '../../support/database/read-schema.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';

// A declaration that changes step by step: fields by name, each with a kind and tags, in a resource that may be renamed.
const KINDS = ['integer', 'number', 'string', 'text'] as const;
const NAMES = ['alpha', 'betaTwo', 'gamma', 'delta'] as const;

interface Shape {
  kind: (typeof KINDS)[number];
  index: boolean;
  filterable: boolean;
  sortable: boolean;
  searchable: boolean;
  unique: boolean;
  from: string | undefined;
}

interface State {
  resource: string;
  resourceFrom: string | undefined;
  fields: ReadonlyMap<string, Shape>;
}

type Step =
  | { do: 'set'; name: string; shape: Omit<Shape, 'from'> }
  | { do: 'remove'; name: string }
  | { do: 'rename'; name: string; to: string }
  | { do: 'rename-resource' };

const shape = fc.record({
  kind: fc.constantFrom(...KINDS),
  index: fc.boolean(),
  filterable: fc.boolean(),
  sortable: fc.boolean(),
  searchable: fc.boolean(),
  unique: fc.boolean(),
});
const name = fc.constantFrom(...NAMES);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant('set' as const), name, shape }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('remove' as const), name }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('rename' as const), name, to: name }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('rename-resource' as const) }) },
);

function next(state: State, change: Step): State {
  const fields = new Map([...state.fields].map(([key, one]) => [key, { ...one, from: undefined }] as [string, Shape]));
  const resource = { resource: state.resource, resourceFrom: undefined };
  if (change.do === 'rename-resource')
    return { fields, resource: state.resource === 'post' ? 'blog-item' : 'post', resourceFrom: state.resource };
  const old = fields.get(change.name);
  if (change.do === 'set') fields.set(change.name, { ...change.shape, from: undefined });
  else if (change.do === 'remove') fields.delete(change.name);
  else if (old !== undefined && !fields.has(change.to)) {
    fields.delete(change.name);
    fields.set(change.to, { ...old, from: change.name });
  }
  return { ...resource, fields };
}

function field(one: Shape): AnyField {
  let made: AnyField = f[one.kind]();
  if (one.kind === 'text') made = one.filterable ? made.filterable(['eq']) : made;
  else {
    if (one.index) made = made.index();
    if (one.filterable) made = made.filterable();
    if (one.sortable) made = made.sortable();
    if (one.unique) made = made.unique();
  }
  if (one.searchable && (one.kind === 'string' || one.kind === 'text')) made = made.searchable();
  return one.from === undefined ? made : made.renamedFrom(one.from);
}

function declare({ resource, resourceFrom, fields }: State) {
  const made: Fields = Object.fromEntries([...fields].map(([key, one]) => [key, field(one)]));
  const compound = [...fields].filter(([, { kind }]) => kind !== 'text').map(([key]) => key);
  return defineResource(resource, {
    fields: { fixed: f.string(), ...made },
    indexes: compound.length > 1 ? [{ fields: [compound[0]!, `-${compound[1]}`] }] : [],
    ...(resourceFrom === undefined ? {} : { renamedFrom: resourceFrom }),
  });
}

const column = (key: string) => (key === 'betaTwo' ? 'beta_two' : key);
const table = ({ resource }: State) => (resource === 'post' ? 'posts' : 'blog_items');
const FIRST: State = { resource: 'post', resourceFrom: undefined, fields: new Map() };

test('whatever the steps, migrations and sync both end with the schema that sync creates from scratch, and values are preserved', {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 7 }), async (steps) => {
      const projects = [
        await createMigrationProject(),
        await createMigrationProject(),
        await createMigrationProject(),
      ] as const;
      const [migrated, synced, fresh] = projects;
      await migrated.change([declare(FIRST)]);
      await synced.sync([declare(FIRST)]);
      for (const { query } of [migrated, synced]) await query(`insert into posts (id, fixed) values ('1', 'here')`);
      let state = FIRST;
      /** The value of each field of the row, as text. */
      let values = new Map<string, string>();
      for (const [at, change] of steps.entries()) {
        const before = state;
        state = next(state, change);
        const resource = declare(state);
        // Unsafe changes of type are requested as losses.
        const dropOptions = [...state.fields].flatMap(([key, one]) => {
          const old = before.fields.get(key);
          const worse = old !== undefined && KINDS.indexOf(one.kind) < KINDS.indexOf(old.kind);
          const textual = one.kind === 'string' && old?.kind === 'text';
          return worse && !textual ? ['--drop', `${table(before)}.${column(key)}`] : [];
        });
        const { ok, lines } = await migrated.generate([resource], '--allow-loss', ...dropOptions);
        expect({ ok, lines: ok ? [] : lines }).toEqual({ ok: true, lines: [] });
        await migrated.apply();
        await synced.sync([resource], 'anything');

        values = new Map(
          [...state.fields].flatMap(([key, one]): [string, string][] => {
            const kept = values.get(one.from ?? key);
            const lost = dropOptions.includes(`${table(before)}.${column(key)}`);
            return kept === undefined || lost ? [] : [[key, kept]];
          }),
        );
        for (const key of state.fields.keys()) {
          if (values.has(key)) continue;
          values.set(key, String(100 + at));
          for (const { query } of [migrated, synced])
            await query(`update ${table(state)} set ${column(key)} = ${100 + at}`);
        }
      }
      await fresh.sync([declare(state)]);
      const schema = await readResourceSchema(fresh);
      expect(await readResourceSchema(migrated)).toEqual(schema);
      expect(await readResourceSchema(synced)).toEqual(schema);
      const expected = {
        fixed: 'here',
        ...Object.fromEntries([...values].map(([key, value]) => [column(key), value])),
      };
      const [{ row }] = await migrated.query(
        `select to_jsonb(r) - '{id,created_at,updated_at}'::text[] as row from ${table(state)} r`,
      );
      expect(Object.fromEntries(Object.entries(row).map(([key, value]) => [key, String(value)]))).toEqual(expected);
      // After a failure, the end of the test removes them.
      for (const project of projects) await project.remove();
    }),
    { numRuns: scaleRuns(2) },
  );
});
