import type { z } from 'zod';
import type { FieldSpec, Operator } from '../../declare/field.ts';
import type { CompiledPolicy } from '../../declare/policy.ts';
import type { Action, AnyResource } from '../../declare/resource.ts';
import type { ReportRuleError } from '../access/rule-errors.ts';
import type { ColumnType } from '../fields/column-type.ts';
import type { FieldType } from '../fields/field-type.ts';

/** A field as the engine works with it. */
export interface CompiledField {
  name: string;
  column: string;
  spec: FieldSpec;
  type: FieldType;
  schema: z.ZodType;
  /** Whether it, or a field inside it, has a `check` or `schema`. */
  hasRules: boolean;
  /** Whether it, or a field inside it, has a `schema`, whose output replaces the value. */
  transforms: boolean;
  /** The type of its column, unless it is encrypted. */
  columnType: ColumnType;
  /** Converts a value to compare with to a Postgres parameter; undefined where they are the same. */
  toParameter: ((value: unknown) => unknown) | undefined;
  /** Bytes that a text in its column may have, so that indexes hold it; undefined where none does. */
  maxBytes: number | undefined;
  /** Whether lists are sorted by the start of its texts, because whole texts may not fit into an index. */
  sortsByPrefix: boolean;
  /** Operators a query may use; empty when the field is not filterable. */
  operators: ReadonlySet<Operator>;
  visibleTo: CompiledPolicy | undefined;
  writableBy: CompiledPolicy | undefined;
  /** Never accepted from any client. */
  closed: boolean;
  /** Never returned to any viewer. */
  secret: boolean;
  /** Whether it holds personal data. */
  personal: boolean;
  /** The resource whose record it names, or whose records its items name. */
  target: string | undefined;
}

/** The Postgres type of a field's column. */
export function sqlTypeOf({ spec, columnType }: CompiledField): string {
  return spec.encrypted ? 'text' : columnType.sql;
}

/** One term of a sort order. `column` is the database's name. */
export interface SortTerm {
  field: string;
  column: string;
  descending: boolean;
}

/** An index of a resource's table. */
export interface Index {
  name: string;
  /** `search`: finds substrings. `digest`: unique over texts of any length. `prefix`: orders texts by their start. */
  method: 'btree' | 'hash' | 'gin' | 'search' | 'digest' | 'prefix';
  unique: boolean;
  terms: readonly SortTerm[];
}

/** A declaration made ready at startup: everything that requests need and that does not depend on them. */
export interface CompiledResource {
  name: string;
  declaration: AnyResource;
  /** Below /api, with the leading slash. */
  path: string;
  table: string;
  /** What its statements read from, where that is not the table alone: SQL. */
  source?: string;
  timestamps: boolean;
  /** Whether its deleted records are kept. */
  softDelete: boolean;
  /** Whether its events contain where a change came from, and which passwords are set. */
  audit: boolean;
  /** Whether these are the deleted records: each has `deletedAt`. */
  archived?: boolean;
  fields: readonly CompiledField[];
  field: ReadonlyMap<string, CompiledField>;
  /** The field that holds the owner's id; `id` when a record owns itself. */
  ownerField: string | undefined;
  policies: Record<Action | 'reference', CompiledPolicy>;
  actions: ReadonlySet<Action>;
  defaultSort: readonly SortTerm[];
  /** Columns of the index that gives the default order, the id last; undefined when an index cannot hold them. */
  defaultOrder: readonly SortTerm[] | undefined;
  /** Fields that are the first of an index, so that sorting by them reads no more than a page. */
  indexedSorts: ReadonlySet<string>;
  /** Of its table, besides the primary key. */
  indexes: readonly Index[];
  /** References that every read expands. */
  populated: readonly string[];
  /** Logs what a policy, `visibleTo` or scope function threw. */
  reportRuleError: ReportRuleError;
}

/** The column of a field, or of the record's own `id`, `createdAt`, `updatedAt`. */
export function columnOf(resource: Pick<CompiledResource, 'field'>, field: string): string {
  if (field === 'id') return 'id';
  if (field === 'createdAt') return 'created_at';
  if (field === 'updatedAt') return 'updated_at';
  if (field === 'deletedAt' && !resource.field.has(field)) return 'deleted_at';
  return resource.field.get(field)!.column;
}
