import type { OnDelete } from '../../declare/relation.ts';
import { shortenIdentifier } from '../../platform/data/postgres/identifiers.ts';
import type { CompiledField, CompiledResource } from './compiled.ts';

/** A field of a resource whose references must stay valid when the record that they name is deleted. */
export interface Referrer {
  /** The name of the resource whose records refer to the target. */
  resource: string;
  field: CompiledField;
  onDelete: OnDelete;
}

/** The referrers of each resource that has any, by the name of the resource. */
export type Referrers = ReadonlyMap<string, readonly Referrer[]>;

/** Collects which fields of which resources refer to each resource with `onDelete`. */
export function compileReferrers(resources: readonly Pick<CompiledResource, 'name' | 'fields'>[]): Referrers {
  const all = resources.flatMap(({ name, fields }) =>
    fields.flatMap((field) => {
      const { onDelete } = field.spec;
      return onDelete === undefined ? [] : [{ target: field.target!, resource: name, field, onDelete }];
    }),
  );
  return Map.groupBy(all, ({ target }) => target);
}

/** The name of the foreign key of a reference; undefined if the field has none. Arrays cannot have foreign keys in Postgres. */
export function foreignKeyNameOf(
  { table }: Pick<CompiledResource, 'table'>,
  { spec, column }: CompiledField,
): string | undefined {
  return spec.onDelete === undefined || spec.inner !== undefined
    ? undefined
    : shortenIdentifier(`${table}_${column}_fkey`);
}

/**
 * The names of the foreign keys that a deletion may violate until it has deleted or cleared the referring records: the keys of the direct
 * referrers, and of the referrers of records that are deleted with them.
 */
export function foreignKeysBelow(
  target: string,
  referrers: Referrers,
  getResource: (name: string) => Pick<CompiledResource, 'table'>,
): string[] {
  const names = new Set<string>();
  const seen = new Set([target]);
  for (const passed of seen) {
    for (const { resource, field, onDelete } of referrers.get(passed) ?? []) {
      const name = foreignKeyNameOf(getResource(resource), field);
      if (name !== undefined) names.add(name);
      if (onDelete === 'cascade') seen.add(resource);
    }
  }
  return [...names];
}

/** The message for a reference to a record that does not exist. */
export function missingReferenceMessage({ target }: Pick<CompiledField, 'target'>): string {
  return `No such ${target!.replaceAll('-', ' ')}`;
}
