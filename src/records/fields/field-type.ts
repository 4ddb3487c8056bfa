import type { z } from 'zod';
import { AGGREGATE_FUNCTIONS, type AggregateFunction } from '../../declare/aggregate.ts';
import { describeDeprecation } from '../../declare/deprecation.ts';
import type { DeclaredType, FieldSpec } from '../../declare/field.ts';
import type { Operator } from '../../declare/service.ts';
import type { StandardSchema } from '../../platform/helpers/standard-schema.ts';
import type { ColumnType } from './column-type.ts';
import type { Direction, JsonSchema } from './json-schema.ts';

/** The modifiers that only some types support. */
export const TYPED_MODIFIERS = [
  'min',
  'max',
  'pattern',
  'trim',
  'lowercase',
  'uppercase',
  'normalize',
  'unique',
  'index',
  'filterable',
  'sortable',
  'searchable',
  'encrypted',
  'owner',
  'populate',
] as const;

/** A modifier that only some types support. */
export type TypedModifier = (typeof TYPED_MODIFIERS)[number];

/** A value that filters and cursors compare. */
export type Scalar = string | number | boolean;

/** The filter operators of a field type whose values have no order, such as booleans. */
export const EQUALITY_COMPARISONS: readonly Operator[] = ['eq', 'ne', 'in', 'nin', 'exists'];

/** Comparisons of values that have an order. */
export const ORDER_COMPARISONS: readonly Operator[] = [...EQUALITY_COMPARISONS, 'gt', 'gte', 'lt', 'lte'];

/** How the values of a field type can be aggregated. */
export interface Aggregations {
  /** What groups are formed of: the values themselves, or buckets of dates. */
  group: 'value' | 'bucket';
  functions: readonly AggregateFunction[];
}

/** The aggregations of values without an order: they can only be equal or not. */
export const COUNTED_VALUES: Aggregations = { group: 'value', functions: ['countDistinct'] };

/** The aggregations of numbers. */
export const NUMBERS: Aggregations = { group: 'value', functions: AGGREGATE_FUNCTIONS };

/** How a type with nested fields gets their schemas. */
export interface SchemaContext {
  /** The schema of a non-null value of an inner field. `maxBytes` is the space that an index has for a string in the field. */
  inner: (spec: FieldSpec, maxBytes?: number) => z.ZodType;
  unknownFields: 'reject' | 'strip';
  /** Maximum bytes of a text that is also in an index over several fields or over the items of its array. */
  maxBytes?: number | undefined;
}

/**
 * The complete definition of a field type, for every feature: validation, storage, queries, migrations, OpenAPI, exports, erasure. To add a
 * type, write one file with such an object and its factory `field`, and add one line to `f.ts`.
 */
export interface FieldType extends DeclaredType {
  /** Creates a field of the type: `f.<kind>(…)`. */
  // biome-ignore lint/suspicious/noExplicitAny: each type has parameters of its own
  field?(...given: any[]): { readonly spec: FieldSpec };

  // Validation
  /** The schema of a non-null value: its type, bounds and normalisation. Messages are public. */
  schema(spec: FieldSpec, context: SchemaContext): z.ZodType;
  modifiers: readonly TypedModifier[];
  /** Errors in the declaration of a field of this type, apart from modifiers that the type does not support. */
  errors?(spec: FieldSpec): string[];
  /** Converts a valid value of `min()` or `max()` to the form that `order` compares. Left out: numbers, unchanged. */
  bound?(value: number | string | Date): Scalar;

  // Storage
  /** The column that holds its values; a function if it depends on the declaration. */
  column: ColumnType | ((spec: FieldSpec) => ColumnType);
  /** Whether its values never leave the system and are not read back: the column holds a derived value such as a hash. */
  concealed?: true;
  /** Converts a validated value, or a value to compare with, to a Postgres parameter. Left out: no conversion. */
  toColumn?(value: unknown, spec: FieldSpec): unknown;
  /** Converts the driver's value to the value of a record. Left out: no conversion. */
  fromColumn?(value: unknown, spec: FieldSpec): unknown;
  /** Converts the JSON of a column (in an outbox payload) to the value of a record. Left out: no conversion. */
  fromJson?(value: unknown, spec: FieldSpec): unknown;

  // Queries
  /** Default operators of `filterable()`. */
  operators: readonly Operator[];
  /** All meaningful comparisons, for clients or for code. */
  comparisons(spec: FieldSpec): readonly Operator[];
  /**
   * Converts a value of code (a scope filter, a cursor) to the form that records hold; undefined for a value of the wrong type. Left out:
   * values are never compared.
   */
  comparable?(value: unknown, spec: FieldSpec): Scalar | undefined;
  /** Converts the text of a query parameter to a value to compare with; undefined if it has the wrong type. */
  fromQuery?(text: string, spec: FieldSpec): Scalar | undefined;
  /** Compares two values of records as their column does. Left out: texts by code point, other values by size. */
  order?(a: Scalar, b: Scalar): number;
  /** Whether its values are texts that sort by code point, not by the database's collation. */
  textual?: true;
  /** The index that serves its filters. Left out: none. */
  indexMethod?(spec: FieldSpec): 'btree' | 'hash' | 'gin' | undefined;
  /** Maximum bytes of a value in a btree index; undefined if values may be larger than fits. Left out: no index orders its values. */
  indexedBytes?(spec: FieldSpec): number | undefined;
  /** Whether the type accepts values that are too large for an index: indexes of its fields are over expressions, such as a digest. */
  indexedByExpression?: true;

  /** How its values can be aggregated. Left out: not at all. */
  aggregations?: Aggregations;

  // Descriptions
  /**
   * The JSON Schema of a non-null value.
   *
   * @param inner returns the JSON Schema of an inner field
   */
  jsonSchema(spec: FieldSpec, inner: (spec: FieldSpec) => JsonSchema, direction: Direction): JsonSchema;
  /** The JSON type of its values; `any` for a type that accepts all JSON. Columns of JSON and ciphertexts hold values in this form. */
  jsonType: 'string' | 'number' | 'boolean' | 'array' | 'object' | 'any';
  /** Whether every value of its JSON type is valid. Columns of such values can then be converted to this type. */
  takesAll?: true;
  /**
   * Whether its values are readable by every other type with this mark: the values are plain texts, though not all are valid in every such
   * type.
   */
  plainText?: true;

  // Personal data
  /** Whether a field of this type is always personal data (`always`), or never because of its name alone. Left out: its name decides. */
  personal?: 'always' | 'never';
  /**
   * Whether people can write anything about themselves in a field of this type: then it is personal data in a user record, whatever its
   * name.
   */
  freeText?: true;
  /** Whether the audit trail masks its personal values completely: even the first character would reveal much. */
  maskedWhole?: true;
}

/** The type of a field. */
export function fieldTypeOf({ type }: FieldSpec): FieldType {
  // Only the factories of field types create fields.
  return type as FieldType;
}

/** The column type of a field that is not encrypted. */
export function columnTypeOf(spec: FieldSpec): ColumnType {
  const { column } = fieldTypeOf(spec);
  return typeof column === 'function' ? column(spec) : column;
}

/** The default order of two values: texts by code point, as with `collate "C"`; other values by size. */
export function compareScalars(a: Scalar, b: Scalar): number {
  // JavaScript compares UTF-16 code units, which is a different order.
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b));
  return Number(a) - Number(b);
}

/** Whether a field holds texts that are too large for an index: its own indexes are over expressions. */
export function isTextTooLongForIndex(spec: FieldSpec): boolean {
  const { indexedByExpression, indexedBytes } = fieldTypeOf(spec);
  return indexedByExpression === true && indexedBytes?.(spec) === undefined;
}

/** The meaningful comparisons of a field, whether or not clients may use them. */
export function supportedOperatorsOf(spec: FieldSpec): readonly Operator[] {
  return spec.encrypted ? ['exists'] : fieldTypeOf(spec).comparisons(spec);
}

/**
 * The schema of a non-null value of a field, including nested fields. Custom rules (`check`, `schema`) run after it.
 *
 * @param maxBytes the room in an index over several fields, or over the items of its array
 */
export function fieldSchema(spec: FieldSpec, unknownFields: 'reject' | 'strip', maxBytes?: number): z.ZodType {
  const inner = (one: FieldSpec, max?: number) => fieldSchema(one, unknownFields, max);
  return fieldTypeOf(spec).schema(spec, { inner, unknownFields, maxBytes });
}

/** Converts the schema of a json field to JSON Schema. */
export type ConvertContent = (schema: StandardSchema, direction: 'input' | 'output') => JsonSchema;

/** The schema of a value of a field by its type, without the keywords that describe the field. */
function typeJsonSchema(spec: FieldSpec, direction: Direction, convertContent: ConvertContent | undefined): JsonSchema {
  if (spec.content !== undefined && convertContent !== undefined && direction !== 'query')
    return convertContent(spec.content, direction);
  return fieldTypeOf(spec).jsonSchema(spec, (inner) => fieldJsonSchema(inner, direction, convertContent), direction);
}

/**
 * The JSON Schema of a non-null value of a field: in a body, in a response, or as an operand of a query.
 *
 * @param convertContent converts the schemas of json fields; left out: their values may be any JSON
 */
export function fieldJsonSchema(spec: FieldSpec, direction: Direction, convertContent?: ConvertContent): JsonSchema {
  const { example, deprecated, default: preset } = spec;
  // The output of a Standard Schema has passed none of the field's own rules; in an encrypted field it can be any JSON.
  const replaced = direction === 'output' && spec.standard !== undefined;
  const replacement = spec.encrypted ? {} : columnTypeOf(spec).jsonSchema;
  // Results of a default function differ between records, and a response has no default.
  const filled = direction === 'input' && preset !== undefined && typeof preset !== 'function';
  const schema = replaced ? replacement : typeJsonSchema(spec, direction, convertContent);
  const texts = [spec.description ?? schema.description, deprecated && describeDeprecation(deprecated)];
  const description = texts.filter((text) => text !== undefined).join(' ');
  return {
    ...schema,
    ...(description === '' ? {} : { description }),
    ...(deprecated === undefined ? {} : { deprecated: true }),
    ...(example === undefined ? {} : { examples: [example] }),
    ...(filled ? { default: preset } : {}),
  };
}

const TITLE_KINDS: ReadonlySet<string> = new Set(['string', 'text', 'email', 'url']);

/** Whether the values of a field can name records for people: texts that responses contain. */
export function canBeTitle(spec: FieldSpec): boolean {
  return TITLE_KINDS.has(spec.type.kind) && !spec.hidden && !spec.writeOnly && !spec.encrypted;
}

const TITLE_PART_KINDS: ReadonlySet<string> = new Set([...TITLE_KINDS, 'integer', 'number', 'decimal', 'enum']);

/** Whether the values of a field can be a part of the names of records: also numbers and choices, which name nothing alone. */
export function canBePartOfTitle(spec: FieldSpec): boolean {
  return TITLE_PART_KINDS.has(spec.type.kind) && !spec.hidden && !spec.writeOnly && !spec.encrypted;
}
