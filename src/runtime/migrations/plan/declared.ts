import type { PgTable } from 'drizzle-orm/pg-core';
import type { FieldSpec } from '../../../declare/field.ts';
import { normalizeResourceName, pluralName, snakeCase } from '../../../declare/naming.ts';
import { formerNames } from '../../../declare/resource.ts';
import { findPartitionColumn } from '../../../platform/data/postgres/drizzle.ts';
import { quoteLiteral } from '../../../platform/data/postgres/values.ts';
import { fieldTypeOf } from '../../../records/fields/field-type.ts';
import { createDefaultValue } from '../../../records/fields/missing-values.ts';
import type { CompiledField, CompiledResource } from '../../../records/schema/compiled.ts';
import type { CompiledConstraint } from '../../../records/schema/constraints.ts';
import { archiveTable } from '../../../records/schema/table-names.ts';
import { describeKind, describeMembers, findEnumValues, type StoredMembers } from './members.ts';

/** Facts about a column beyond its SQL. */
export interface DeclaredColumn {
  /** The name of the column's field: `post.title`. */
  field: string;
  spec: FieldSpec;
  /** `string`, `array of string`, … */
  kind: string;
  /** The values of an enum field, or of an array of enums; undefined for other fields. */
  values: readonly string[] | undefined;
  /** The members of an object field, or of an array of objects; undefined for other fields. */
  members: StoredMembers | undefined;
  /** Maximum bytes of a text in the column, or of an item in its array; undefined if there is no limit. */
  longest: number | undefined;
  /** Maximum bytes of a text in the column that fit into its indexes; undefined if the column has no index. */
  room: number | undefined;
  /** The encryption context of the column's ciphertexts, without the record's id: `post/secret`. Undefined: not encrypted. */
  bound: string | undefined;
  /** Earlier names of the column, latest first. */
  earlier: readonly string[];
  /** The default of the field as an SQL literal, for existing rows when the column is added; undefined if there is none. */
  fill: string | undefined;
  /** Whether the field has a default, other than no value. */
  hasDefault: boolean;
  /** Why existing rows get no value when the column is added, if developers may expect one; otherwise undefined. */
  unfilled: string | undefined;
}

/** Constraints by table and name. drizzle-kit cannot describe exclusions, and does not follow renames of columns in conditions. */
export type StoredConstraints = Readonly<
  Record<string, Readonly<Record<string, Pick<CompiledConstraint, 'kind' | 'definition' | 'lockedBy'>>>>
>;

/** Facts about tables beyond their SQL. */
export interface DeclaredFacts {
  /** Columns by `<table>.<column>`. */
  columns: ReadonlyMap<string, DeclaredColumn>;
  /** Resources by table. `earlier`: earlier names of the table, latest first. */
  tables: ReadonlyMap<string, { resource: string; earlier: readonly string[] }>;
  /** The constraints that resources declare, by table and name. */
  constraints: StoredConstraints;
  /** SQL statements of extensions. Each runs once the tables exist, and again whenever its text changes. */
  statements: readonly string[];
  /** The tables that are partitioned by day, each with the column that decides the day. */
  partitioned: ReadonlyMap<string, string>;
}

/** Returns the maximum bytes of a column's texts (`longest`), and the bytes that fit into its indexes (`room`). */
function textSizeLimitsOf({ spec, maxBytes }: CompiledField): Pick<DeclaredColumn, 'longest' | 'room'> {
  const item = spec.inner?.spec ?? spec;
  const declared = fieldTypeOf(item).indexedBytes?.(item) ?? Number.POSITIVE_INFINITY;
  const longest = Math.min(declared, maxBytes ?? Number.POSITIVE_INFINITY);
  return { longest: Number.isFinite(longest) ? longest : undefined, room: maxBytes };
}

function usesStandardSchema(spec: CompiledField['spec']): boolean {
  if (spec.standard !== undefined || spec.content !== undefined) return true;
  const inside = [...Object.values(spec.shape ?? {}), ...(spec.inner === undefined ? [] : [spec.inner])];
  return inside.some((field) => usesStandardSchema(field.spec));
}

function findFillValue(field: CompiledField): Pick<DeclaredColumn, 'fill' | 'unfilled'> {
  const { spec } = field;
  const withoutFill = (unfilled: string | undefined) => ({ fill: undefined, unfilled });
  if (!('default' in spec)) return withoutFill(spec.required ? 'it is required and has no default' : undefined);
  if (typeof spec.default === 'function') return withoutFill('its default is a function');
  if (spec.default === undefined || spec.default === null) return withoutFill(undefined);
  if (spec.encrypted) return withoutFill('it is encrypted');
  if (field.type.concealed) return withoutFill('it is a password');
  if (usesStandardSchema(spec)) return withoutFill('its default passes through a schema');
  const parsed = field.schema.parse(createDefaultValue(spec));
  const stored = field.type.toColumn === undefined ? parsed : field.type.toColumn(parsed, spec);
  return { fill: sqlLiteral(stored, field.columnType.sql), unfilled: undefined };
}

/**
 * Collects the facts about the tables of compiled declarations.
 *
 * @param statements the statements of the extensions
 * @param otherTables the tables that do not belong to resources, by name
 */
export function collectDeclaredFacts(
  resources: readonly CompiledResource[],
  statements: readonly string[],
  otherTables: Readonly<Record<string, PgTable>>,
): DeclaredFacts {
  const columns = resources.flatMap((resource) =>
    resource.fields.map((field): [string, DeclaredColumn] => [
      `${resource.table}.${field.column}`,
      {
        field: `${resource.name}.${field.name}`,
        spec: field.spec,
        kind: describeKind(field.spec),
        values: findEnumValues(field.spec),
        members: describeMembers(field.spec),
        ...textSizeLimitsOf(field),
        bound: field.spec.encrypted ? `${resource.name}/${field.name}` : undefined,
        earlier: (field.spec.renamedFrom ?? []).map(snakeCase).filter((name) => name !== field.column),
        hasDefault: field.spec.default !== undefined && field.spec.default !== null,
        ...findFillValue(field),
      },
    ]),
  );
  const tables = resources.map((resource): [string, { resource: string; earlier: string[] }] => {
    const names = formerNames(resource.declaration);
    const earlier = names.flatMap((name) => [name, snakeCase(pluralName(normalizeResourceName(name)))]);
    const tables = resource.archived ? earlier.map(archiveTable) : earlier;
    return [resource.table, { resource: resource.name, earlier: tables.filter((name) => name !== resource.table) }];
  });
  const partitioned = Object.entries(otherTables).flatMap(([name, table]): [string, string][] => {
    const column = findPartitionColumn(table);
    return column === undefined ? [] : [[name, column]];
  });
  const constraints = resources
    .filter((resource) => resource.constraints.length > 0)
    .map(({ table, constraints }) => [
      table,
      Object.fromEntries(
        constraints.map(({ name, kind, definition, lockedBy }) => [name, { kind, definition, lockedBy }]),
      ),
    ]);
  return {
    columns: new Map(columns),
    tables: new Map(tables),
    constraints: Object.fromEntries(constraints),
    statements,
    partitioned: new Map(partitioned),
  };
}

/** Returns a stored value as an SQL literal with the column's type, for statements that take no parameters. */
function sqlLiteral(value: unknown, type: string): string {
  if (Array.isArray(value)) return `ARRAY[${value.map(scalarLiteral).join(', ')}]::${type}`;
  return `${scalarLiteral(value)}::${type}`;
}

function scalarLiteral(value: unknown): string {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return quoteLiteral(String(value));
}
