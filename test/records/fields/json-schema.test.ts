import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { expect, test } from 'vitest';
import type { AnyField } from '../../../src/declare/field.ts';
import { f } from '../../../src/index.ts';
import { fieldJsonSchema, fieldSchema } from '../../../src/records/fields/field-type.ts';

const ajv = new Ajv2020({ strict: false });
addFormats.default(ajv);

const needed: Record<string, AnyField> = {
  string: f.string().required(),
  text: f.text().required(),
  email: f.email().required(),
  url: f.url().required(),
  password: f.password().required(),
  number: f.number().required(),
  integer: f.integer().required(),
  decimal: f.decimal().required(),
  boolean: f.boolean().required(),
  date: f.date().required(),
  enum: f.enum(['a']).required(),
  id: f.id().required(),
  ref: f.ref('thing').required(),
  array: f.array(f.string()).required(),
  object: f.object({ a: f.string() }).required(),
  json: f.json().required(),
};

test.each(Object.entries(needed))('the schema of a required %s refuses null and the empty text', (_name, field) => {
  const validate = ajv.compile(fieldJsonSchema(field.spec, 'input'));
  for (const empty of [null, '']) expect(validate(empty)).toBe(false);
});

const values = [
  null,
  '',
  'a',
  ' a ',
  'a@b.co',
  'https://a.co',
  'eight by the sea',
  0,
  1.5,
  2 ** 53,
  true,
  [],
  ['a'],
  [1],
  {},
];
const plain = Object.entries(needed).map(([name, field]): [string, AnyField] => [name, field.optional()]);
test.each(plain)('the schema of a %s accepts exactly the values that validation accepts', (_name, field) => {
  const validate = ajv.compile(fieldJsonSchema(field.spec, 'input'));
  const rules = fieldSchema(field.spec, 'reject');
  for (const value of values.filter((one) => one !== null)) {
    expect([value, validate(value)]).toEqual([value, rules.safeParse(value).success]);
  }
});
