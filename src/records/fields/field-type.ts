import type { z } from 'zod';
import type { FieldKind, FieldSpec, Operator } from '../../declare/field.ts';
import type { Direction, JsonSchema } from './json-schema.ts';

/** The modifiers that only some types take. */
export type TypedModifier =
  | 'min'
  | 'max'
  | 'pattern'
  | 'trim'
  | 'lowercase'
  | 'uppercase'
  | 'unique'
  | 'index'
  | 'filterable'
  | 'sortable'
  | 'searchable'
  | 'encrypted'
  | 'owner'
  | 'populate';

/** What a query can be compared with. */
export type Scalar = string | number | boolean;

/** How a type with inner fields gets the schemas of those. */
export interface SchemaContext {
  /** The schema of a value of an inner field that is there, for which an index has room for so many bytes. */
  inner: (spec: FieldSpec, mostBytes?: number) => z.ZodType;
  unknownFields: 'reject' | 'strip';
  /** Bytes that a text may have, where an index over several fields, or over the items of its array, holds it too. */
  mostBytes?: number | undefined;
}

/** All there is to know of a field type. */
export interface FieldType {
  kind: FieldKind;
  /** The Postgres type of its column. */
  column(spec: FieldSpec): string;
  /** Validation of a value that is there: types, bounds, normalisation. Messages are public. */
  schema(spec: FieldSpec, context: SchemaContext): z.ZodType;
  /**
   * The JSON Schema of a value that is there.
   *
   * @param inner gives that of an inner field
   */
  jsonSchema(spec: FieldSpec, inner: (spec: FieldSpec) => JsonSchema, direction: Direction): JsonSchema;
  /** Operators of `filterable()` without arguments. */
  operators: readonly Operator[];
  /** All comparisons that make sense, for clients or for code. */
  comparisons(spec: FieldSpec): readonly Operator[];
  modifiers: readonly TypedModifier[];
  /** What is wrong with a declaration of this type, beyond modifiers that it does not take. */
  mistakes?(spec: FieldSpec): string[];
  /** Its values never leave the system and are not read back: the column holds something made from them. */
  concealed?: true;
  /** Its values are texts: compared by code point, not in the order of the database's language. */
  textual?: true;
  /** The index that serves its filters. Left out where there is none. */
  indexMethod?(spec: FieldSpec): 'btree' | 'hash' | 'gin' | undefined;
  /** Bytes that a value takes at most in a btree index; undefined for a field that may hold more than fits. Left out: it is never ordered by an index. */
  indexedBytes?(spec: FieldSpec): number | undefined;
  /** From a validated value to a Postgres parameter. Left out where they are the same. */
  toColumn?(value: unknown, spec: FieldSpec): unknown;
  /** From the JSON of a row (an outbox payload) to the stored value. Left out where they are the same. */
  fromJson?(value: unknown, spec: FieldSpec): unknown;
  /** A value of code (a scope filter, a cursor) in the form in which records hold it; undefined for one of the wrong type. Left out: it is never compared. */
  comparable?(value: unknown, spec: FieldSpec): Scalar | undefined;
  /** The text of a query parameter as a value to compare with; undefined when it is of the wrong type. */
  fromQuery?(text: string, spec: FieldSpec): Scalar | undefined;
}
