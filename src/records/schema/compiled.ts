import type { z } from 'zod';
import type { FieldSpec } from '../../declare/field.ts';
import type { CompiledPolicy } from '../../declare/policy.ts';
import type { Action, AnyResource } from '../../declare/resource.ts';
import type { Operator } from '../../declare/service.ts';
import type { ColumnType } from '../fields/column-type.ts';
import type { FieldType } from '../fields/field-type.ts';
import type { CompiledConstraint } from './constraints.ts';
import type { ReportRuleError } from './rule-errors.ts';

/** Values by field name; null clears a field. */
export type Values = Record<string, unknown>;

/** A compiled field. */
export interface CompiledField {
  name: string;
  column: string;
  spec: FieldSpec;
  type: FieldType;
  schema: z.ZodType;
  /** Whether the field or a nested field has a `check` or a schema. */
  hasRules: boolean;
  /** Whether the field or a nested field has a schema, by `schema()` or `json(schema)`, whose output replaces the value. */
  transforms: boolean;
  /** The type of its column unless the field is encrypted. */
  columnType: ColumnType;
  /** Converts a value to compare with to a Postgres parameter; undefined if no conversion is needed. */
  toParameter: ((value: unknown) => unknown) | undefined;
  /** Maximum bytes of a text in the field's column that the indexes can hold; undefined if no index limits it. */
  maxBytes: number | undefined;
  /** Whether lists sort by the beginning of its texts, because whole texts may not fit into an index. */
  sortsByPrefix: boolean;
  /** Operators that a query may use; empty if the field is not filterable. */
  operators: ReadonlySet<Operator>;
  visibleTo: CompiledPolicy | undefined;
  writableBy: CompiledPolicy | undefined;
  /** Never accepted from a client. */
  closed: boolean;
  /** Never returned to a viewer. */
  secret: boolean;
  /** Whether the field holds personal data. */
  personal: boolean;
  /** The target resource of the reference, or of the references in the array. */
  target: string | undefined;
  /** Whether the field holds a file or a list of files. */
  holdsFiles: boolean;
  /** Converts a stored value to the value in responses; undefined if they are the same. */
  toOutput: ((value: unknown) => unknown) | undefined;
}

/** The Postgres type of a field's column. */
export function sqlTypeOf({ spec, columnType }: CompiledField): string {
  return spec.encrypted ? 'text' : columnType.sql;
}

/** One term of a sort order. `column` is the name in the database. */
export interface SortTerm {
  field: string;
  column: string;
  descending: boolean;
}

/** An index of a resource's table. */
export interface Index {
  name: string;
  /** `search`: finds substrings. `digest`: unique over texts of any length. `prefix`: orders texts by their beginning. */
  method: 'btree' | 'hash' | 'gin' | 'search' | 'digest' | 'prefix';
  unique: boolean;
  terms: readonly SortTerm[];
}

/** A connection between the records of two resources. Paths in filters, includes and counts follow relations. */
export interface Relation {
  /** The name of the reference field or of the reverse relation. */
  name: string;
  /** The name of the resource that the relation leads to. */
  target: string;
  /** `one`: a reference. `many`: an array of references. `reverse`: the records of the target that refer to this record. */
  kind: 'one' | 'many' | 'reverse';
  /** The field that holds the references: of this resource; for `reverse`, of the target. */
  field: CompiledField;
  /** For `reverse`: the maximum number of records that `include` returns for each record. */
  limit?: number;
}

/** A declaration compiled at startup: everything that requests need and that is the same for every request. */
export interface CompiledResource {
  name: string;
  declaration: AnyResource;
  /** Below /api, with the leading slash. */
  path: string;
  table: string;
  /** The SQL that replaces the table after `from`, for lists of live and deleted records together; undefined for just the table. */
  source?: string;
  timestamps: boolean;
  /** Whether deleted records of the resource are kept, in an archive. */
  softDelete: boolean;
  /** Whether a field of the resource holds files. */
  holdsFiles: boolean;
  /** Whether events of the resource record the origin of a change and which passwords are set. */
  recordsOrigin: boolean;
  /** Whether events of the resource record the locale that the client of the request prefers, for e-mails to a new user. */
  recordsLocale: boolean;
  /** Whether this describes the archive of a resource: deleted records, each with `deletedAt`. */
  archived?: boolean;
  fields: readonly CompiledField[];
  field: ReadonlyMap<string, CompiledField>;
  /** The references whose records must exist when they are written. */
  checkedReferences: readonly CompiledField[];
  /** The references of the resource and its reverse relations, by name. */
  relations: ReadonlyMap<string, Relation>;
  /** Returns a compiled resource of the app by its name. */
  getResource(name: string): CompiledResource;
  /** The field that holds the owner's id; `id` if a record owns itself. */
  ownerField: string | undefined;
  policies: Record<Action | 'reference', CompiledPolicy>;
  actions: ReadonlySet<Action>;
  /** The maximum number of operations in a request of the batch route; undefined if there is no such route. */
  maxBatchOperations: number | undefined;
  defaultSort: readonly SortTerm[];
  /** Columns of the index that serves the default order, the id last; undefined if an index cannot hold them. */
  defaultOrder: readonly SortTerm[] | undefined;
  /** Fields that are the first column of an index. Sorting by them reads only one page. */
  indexedSorts: ReadonlySet<string>;
  /** Indexes of its table, besides the primary key. */
  indexes: readonly Index[];
  /** The constraints that the declaration adds to the table. */
  constraints: readonly CompiledConstraint[];
  /** References that every read expands. */
  populated: readonly string[];
  /** Logs errors of policy, `visibleTo` and scope functions. */
  reportRuleError: ReportRuleError;
}

/** Returns the resource without password fields, to validate records whose passwords are not sent because they are hashed, or missing. */
export function withoutPasswordFields(resource: CompiledResource): CompiledResource {
  const fields = resource.fields.filter((field) => !field.type.concealed);
  return { ...resource, fields, field: new Map(fields.map((field) => [field.name, field])) };
}

/** The column of a field, or of the record's own `id`, `createdAt`, `updatedAt`. */
export function columnOf(resource: Pick<CompiledResource, 'field'>, field: string): string {
  if (field === 'id') return 'id';
  if (field === 'createdAt') return 'created_at';
  if (field === 'updatedAt') return 'updated_at';
  if (field === 'deletedAt' && !resource.field.has(field)) return 'deleted_at';
  return resource.field.get(field)!.column;
}
