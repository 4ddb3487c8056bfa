import type { FieldSpec } from '../../declare/field.ts';
import { pluralName, resourceName, snakeCase } from '../../declare/naming.ts';
import { earlierNames } from '../../declare/resource.ts';
import { quoteLiteral } from '../../platform/postgres/quote-literal.ts';
import { fieldTypeOf } from '../../records/fields/field-type.ts';
import { freshDefault } from '../../records/fields/missing-values.ts';
import type { CompiledField, CompiledResource } from '../../records/schema/compiled.ts';
import { archiveTable } from '../../records/store/archive-table.ts';
import { type KeptMembers, kindOf, membersOf, valuesOf } from './members.ts';

/** What a declaration says of a column, beyond its SQL. */
export interface DeclaredColumn {
  /** As people know it: `post.title`. */
  field: string;
  spec: FieldSpec;
  /** `string`, `array of string`, … */
  kind: string;
  /** Of an enum, or of an array of them. */
  values: readonly string[] | undefined;
  /** Of an object, or of an array of them. */
  members: KeptMembers | undefined;
  /** Bytes that a text in it may have, or one in its array; undefined where it may be of any length. */
  longest: number | undefined;
  /** Bytes that its indexes have room for in such a text; undefined where it has none. */
  room: number | undefined;
  /** What its ciphertexts are bound to, besides the record's id, when it is encrypted: `post/secret`. */
  bound: string | undefined;
  /** Columns that it may have been, latest first. */
  earlier: readonly string[];
  /** The default as SQL, for the rows that are there when the column is added. */
  fill: string | undefined;
  /** Why rows that are there get no value when the column is added, when that may surprise. */
  unfilled: string | undefined;
}

/** What declarations say of tables, beyond their SQL. */
export interface Declared {
  /** By `<table>.<column>`. */
  columns: ReadonlyMap<string, DeclaredColumn>;
  /** By table. `earlier`: tables that it may have been, latest first. */
  tables: ReadonlyMap<string, { resource: string; earlier: readonly string[] }>;
  /** SQL to be run once the tables are there, and again whenever it is written differently. */
  statements: readonly string[];
}

/** What there is room for in a text column, and what there may be. */
function bytesOf({ spec, maxBytes }: CompiledField): Pick<DeclaredColumn, 'longest' | 'room'> {
  const item = spec.inner?.spec ?? spec;
  const declared = fieldTypeOf(item).indexedBytes?.(item) ?? Number.POSITIVE_INFINITY;
  const longest = Math.min(declared, maxBytes ?? Number.POSITIVE_INFINITY);
  return { longest: Number.isFinite(longest) ? longest : undefined, room: maxBytes };
}

function hasStandard(spec: CompiledField['spec']): boolean {
  if (spec.standard !== undefined) return true;
  const inside = [...Object.values(spec.shape ?? {}), ...(spec.inner === undefined ? [] : [spec.inner])];
  return inside.some((field) => hasStandard(field.spec));
}

function fillOf(field: CompiledField): Pick<DeclaredColumn, 'fill' | 'unfilled'> {
  const { spec } = field;
  const nothing = (unfilled: string | undefined) => ({ fill: undefined, unfilled });
  if (!('default' in spec)) return nothing(spec.required ? 'it is required and has no default' : undefined);
  if (typeof spec.default === 'function') return nothing('its default is a function');
  if (spec.default === undefined || spec.default === null) return nothing(undefined);
  if (spec.encrypted) return nothing('it is encrypted');
  if (field.type.concealed) return nothing('it is a password');
  if (hasStandard(spec)) return nothing('its default passes through schema()');
  const parsed = field.schema.parse(freshDefault(spec));
  const stored = field.type.toColumn === undefined ? parsed : field.type.toColumn(parsed, spec);
  return { fill: literal(stored, field.columnType.sql), unfilled: undefined };
}

/** What compiled declarations say of their tables. @param statements those of the extensions */
export function declaredTables(resources: readonly CompiledResource[], statements: readonly string[]): Declared {
  const columns = resources.flatMap((resource) =>
    resource.fields.map((field): [string, DeclaredColumn] => [
      `${resource.table}.${field.column}`,
      {
        field: `${resource.name}.${field.name}`,
        spec: field.spec,
        kind: kindOf(field.spec),
        values: valuesOf(field.spec),
        members: membersOf(field.spec),
        ...bytesOf(field),
        bound: field.spec.encrypted ? `${resource.name}/${field.name}` : undefined,
        earlier: (field.spec.renamedFrom ?? []).map(snakeCase).filter((name) => name !== field.column),
        ...fillOf(field),
      },
    ]),
  );
  const tables = resources.map((resource): [string, { resource: string; earlier: string[] }] => {
    const names = earlierNames(resource.declaration);
    const earlier = names.flatMap((name) => [name, snakeCase(pluralName(resourceName(name)))]);
    const tables = resource.archived ? earlier.map(archiveTable) : earlier;
    return [resource.table, { resource: resource.name, earlier: tables.filter((name) => name !== resource.table) }];
  });
  return { columns: new Map(columns), tables: new Map(tables), statements };
}

/** A value as it goes to its column, written out in SQL with the column's type: for statements that take no parameters. */
function literal(value: unknown, type: string): string {
  if (Array.isArray(value)) return `ARRAY[${value.map(scalar).join(', ')}]::${type}`;
  return `${scalar(value)}::${type}`;
}

function scalar(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return quoteLiteral(String(value));
}
