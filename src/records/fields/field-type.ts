import type { z } from 'zod';
import type { DeclaredType, FieldSpec, Operator } from '../../declare/field.ts';
import type { ColumnType } from './column-type.ts';
import type { Direction, JsonSchema } from './json-schema.ts';

/** The modifiers that only some types take. */
export const TYPED_MODIFIERS = [
  'min',
  'max',
  'pattern',
  'trim',
  'lowercase',
  'uppercase',
  'unique',
  'index',
  'filterable',
  'sortable',
  'searchable',
  'encrypted',
  'owner',
  'populate',
] as const;

/** A modifier that only some types take. */
export type TypedModifier = (typeof TYPED_MODIFIERS)[number];

/** A value that filters and cursors compare. */
export type Scalar = string | number | boolean;

/** Comparisons of values that are only equal or not. */
export const EQUALITY: readonly Operator[] = ['eq', 'ne', 'in', 'nin', 'exists'];

/** Comparisons of values that have an order. */
export const ORDER: readonly Operator[] = [...EQUALITY, 'gt', 'gte', 'lt', 'lte'];

/** How a type with inner fields gets the schemas of those. */
export interface SchemaContext {
  /** The schema of a set value of an inner field, for which an index has room for so many bytes. */
  inner: (spec: FieldSpec, maxBytes?: number) => z.ZodType;
  unknownFields: 'reject' | 'strip';
  /** Bytes that a text may have, where an index over several fields, or over the items of its array, holds it too. */
  maxBytes?: number | undefined;
}

/**
 * Everything that a field type means, for every feature: validation, storage, queries, migrations, OpenAPI, exports, erasure. To add
 * a type, write one file with such an object and its factory `field`, and add one line to `f.ts`.
 */
export interface FieldType extends DeclaredType {
  /** Makes a field of the type: `f.<kind>(…)`. */
  // biome-ignore lint/suspicious/noExplicitAny: each type has parameters of its own
  field?(...given: any[]): { readonly spec: FieldSpec };

  // Validation
  /** The schema of a set value: its kind, bounds, normalisation. Messages are public. */
  schema(spec: FieldSpec, context: SchemaContext): z.ZodType;
  modifiers: readonly TypedModifier[];
  /** What is wrong with a declaration of this type, apart from modifiers that it does not take. */
  errors?(spec: FieldSpec): string[];
  /** A valid value of `min()` or `max()` in the form in which `order` compares it. Left out: numbers, as they are. */
  bound?(value: number | string | Date): Scalar;

  // Storage
  /** The column that holds its values; a function where that depends on the declaration. */
  column: ColumnType | ((spec: FieldSpec) => ColumnType);
  /** Whether its values never leave the system and are not read back: the column holds something made from them. */
  concealed?: true;
  /** Converts a validated value, or one to compare with, to a Postgres parameter. Left out: they are the same. */
  toColumn?(value: unknown, spec: FieldSpec): unknown;
  /** Converts what the driver returns to the value of a record. Left out: they are the same. */
  fromColumn?(value: unknown, spec: FieldSpec): unknown;
  /** Converts the JSON of a column (in an outbox payload) to the value of a record. Left out: they are the same. */
  fromJson?(value: unknown, spec: FieldSpec): unknown;

  // Queries
  /** Operators of `filterable()` without arguments. */
  operators: readonly Operator[];
  /** All comparisons that make sense, for clients or for code. */
  comparisons(spec: FieldSpec): readonly Operator[];
  /** Converts a value of code (a scope filter, a cursor) to the form in which records hold it; undefined for one of the wrong type. Left out: values are never compared. */
  comparable?(value: unknown, spec: FieldSpec): Scalar | undefined;
  /** Converts the text of a query parameter to a value to compare with; undefined when it is of the wrong type. */
  fromQuery?(text: string, spec: FieldSpec): Scalar | undefined;
  /** Compares two values of records as their column does. Left out: texts by code point, others by size. */
  order?(a: Scalar, b: Scalar): number;
  /** Whether its values are texts whose order is by code point, not that of the database's language. */
  textual?: true;
  /** The index that serves its filters. Left out: there is none. */
  indexMethod?(spec: FieldSpec): 'btree' | 'hash' | 'gin' | undefined;
  /** The most bytes that a value takes in a btree index; undefined when values may be larger than fits. Left out: it is never ordered by an index. */
  indexedBytes?(spec: FieldSpec): number | undefined;
  /** Whether values that no index has room for are taken: its own indexes are over expressions. */
  indexedByExpression?: true;

  // Descriptions
  /**
   * The JSON Schema of a set value.
   *
   * @param inner returns that of an inner field
   */
  jsonSchema(spec: FieldSpec, inner: (spec: FieldSpec) => JsonSchema, direction: Direction): JsonSchema;
  /** The JSON type of its values; `any` for a type that takes all JSON. Columns of JSON and ciphertexts hold values in this form. */
  jsonType: 'string' | 'number' | 'boolean' | 'array' | 'object' | 'any';
  /** Whether every value of its JSON type is valid, so that columns of such values can become one of this type. */
  takesAll?: true;
  /** Whether its values read as those of any other type with this mark: they are plain texts, though not all are valid. */
  plainText?: true;

  // Personal data
  /** Whether a field is personal data by its type (`always`), or never by its name alone. Left out: its name decides. */
  personal?: 'always' | 'never';
  /** Whether a person can write anything about themselves in it: personal data in a user record, whatever its name. */
  freeText?: true;
  /** Whether the audit trail masks its personal values whole: even the first character would reveal much. */
  maskedWhole?: true;
}

/** The type of a field. */
export function fieldTypeOf({ type }: FieldSpec): FieldType {
  // Fields are made by the factories of field types only.
  return type as FieldType;
}

/** The column type of a field that is not encrypted. */
export function columnTypeOf(spec: FieldSpec): ColumnType {
  const { column } = fieldTypeOf(spec);
  return typeof column === 'function' ? column(spec) : column;
}

/** Which of two values comes first, unless their type says otherwise: texts by code point, as `collate "C"`; others by size. */
export function defaultOrder(a: Scalar, b: Scalar): number {
  // JavaScript compares UTF-16 units, which is another order.
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return Number(a) - Number(b);
}

/** Whether a field holds texts that no index has room for: its own indexes are over expressions. */
export function isLongText(spec: FieldSpec): boolean {
  const { indexedByExpression, indexedBytes } = fieldTypeOf(spec);
  return indexedByExpression === true && indexedBytes?.(spec) === undefined;
}

/** The comparisons that make sense for a field, whether or not clients may use them. */
export function possibleOperators(spec: FieldSpec): readonly Operator[] {
  return spec.encrypted ? ['exists'] : fieldTypeOf(spec).comparisons(spec);
}

/**
 * The schema of a set value of a field, inner fields included. Custom rules (`check`, `schema`) come after it.
 *
 * @param maxBytes what an index over several fields, or over the items of its array, has room for
 */
export function fieldSchema(spec: FieldSpec, unknownFields: 'reject' | 'strip', maxBytes?: number): z.ZodType {
  const inner = (one: FieldSpec, max?: number) => fieldSchema(one, unknownFields, max);
  return fieldTypeOf(spec).schema(spec, { inner, unknownFields, maxBytes });
}

/** The JSON Schema of a set value of a field: as a body may hold it, as responses hold it, or as a query compares with it. */
export function fieldJsonSchema(spec: FieldSpec, direction: Direction): JsonSchema {
  const { description, example, default: preset } = spec;
  // What a Standard Schema made of a value has passed none of the field's own rules; encrypted, it can be any JSON.
  const replaced = direction === 'output' && spec.standard !== undefined;
  const replacement = spec.encrypted ? {} : columnTypeOf(spec).jsonSchema;
  // What a function makes differs from record to record; and a response has no default.
  const filled = direction === 'input' && preset !== undefined && typeof preset !== 'function';
  return {
    ...(replaced
      ? replacement
      : fieldTypeOf(spec).jsonSchema(spec, (inner) => fieldJsonSchema(inner, direction), direction)),
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { examples: [example] }),
    ...(filled ? { default: preset } : {}),
  };
}
