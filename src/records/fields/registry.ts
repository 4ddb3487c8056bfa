import type { z } from 'zod';
import type { FieldKind, FieldSpec } from '../../declare/field.ts';
import { arrayTypeWith } from './array.ts';
import { booleanType } from './boolean.ts';
import { dateType } from './date.ts';
import { emailType } from './email.ts';
import { enumType } from './enum.ts';
import type { FieldType } from './field-type.ts';
import { idType } from './id.ts';
import { integerType } from './integer.ts';
import { jsonType } from './json.ts';
import { columnJsonSchema, type Direction, type JsonSchema } from './json-schema.ts';
import { numberType } from './number.ts';
import { objectType } from './object.ts';
import { passwordType } from './password.ts';
import { refType } from './ref.ts';
import { stringType } from './string.ts';
import { textType } from './text.ts';
import { urlType } from './url.ts';

const TYPES: Record<FieldKind, FieldType> = {
  string: stringType,
  text: textType,
  email: emailType,
  url: urlType,
  password: passwordType,
  number: numberType,
  integer: integerType,
  boolean: booleanType,
  date: dateType,
  enum: enumType,
  id: idType,
  ref: refType,
  array: arrayTypeWith(fieldTypeOf),
  object: objectType,
  json: jsonType,
};

/** The type of a field. */
export function fieldTypeOf(spec: FieldSpec): FieldType {
  return TYPES[spec.kind];
}

/** The JSON Schema of a field's value that is there: as a body may hold it, or as answers hold it. */
export function fieldJsonSchema(spec: FieldSpec, direction: Direction): JsonSchema {
  const { description, example, default: preset } = spec;
  const type = fieldTypeOf(spec);
  // What a Standard Schema made of a value has passed none of the field's own rules.
  const replaced = direction === 'output' && spec.standard !== undefined;
  // What a function makes differs from record to record; and an answer has no default.
  const filled = direction === 'input' && preset !== undefined && typeof preset !== 'function';
  return {
    ...(replaced
      ? columnJsonSchema(spec.encrypted ? 'jsonb' : type.column(spec))
      : type.jsonSchema(spec, (inner) => fieldJsonSchema(inner, direction), direction)),
    ...(description === undefined ? {} : { description }),
    ...(example === undefined ? {} : { examples: [example] }),
    ...(filled ? { default: preset } : {}),
  };
}

/**
 * The schema of a field's value that is there, inner fields included. Custom rules (`check`, `schema`) come after it.
 *
 * @param mostBytes what an index over several fields, or over the items of its array, has room for
 */
export function fieldSchema(spec: FieldSpec, unknownFields: 'reject' | 'strip', mostBytes?: number): z.ZodType {
  const inner = (one: FieldSpec, most?: number) => fieldSchema(one, unknownFields, most);
  return fieldTypeOf(spec).schema(spec, { inner, unknownFields, mostBytes });
}
