import { z } from 'zod';
import { Field } from '../../../declare/field.ts';
import { TEXT } from '../column-type.ts';
import { COUNTED_VALUES, EQUALITY_COMPARISONS, type FieldType, ORDER_COMPARISONS } from '../field-type.ts';
import { textJsonSchema } from '../json-schema.ts';
import { normalizeText, shortTextSchema, TEXT_MODIFIERS, textBoundErrors, toComparableText } from '../text-rules.ts';

// RFC 5321 §4.5.3.1.3: a path has at most 256 octets, including its angle brackets.
const MAX_LENGTH = 254;
const MESSAGE = 'Must be a valid e-mail address';

// z.email() is ASCII only, so that lower-casing works the same here and in Postgres, and no look-alike creates a second account.
const address = z
  .string()
  .max(MAX_LENGTH, { error: MESSAGE, abort: true })
  .check(z.email({ error: MESSAGE }));

/** E-mail addresses, trimmed and lower-cased. */
export const emailType = {
  kind: 'email',
  field: (): Field<string> => new Field({ type: emailType, trim: true, lowercase: true }),
  column: TEXT,
  schema: (spec, context) => shortTextSchema(spec, context).pipe(address),
  jsonSchema: (spec, _inner, direction) => ({
    maxLength: MAX_LENGTH,
    ...textJsonSchema(spec, direction),
    format: 'email',
  }),
  jsonType: 'string',
  plainText: true,
  freeText: true,
  personal: 'always',
  operators: EQUALITY_COMPARISONS,
  comparisons: () => ORDER_COMPARISONS,
  modifiers: [...TEXT_MODIFIERS, 'lowercase'],
  aggregations: COUNTED_VALUES,
  errors: (spec) => [
    ...textBoundErrors(spec),
    ...(Number(spec.min?.value) > MAX_LENGTH
      ? [`min(${spec.min?.value}) is greater than ${MAX_LENGTH}, the maximum length of an e-mail address; lower it`]
      : []),
  ],
  textual: true,
  indexMethod: () => 'btree',
  indexedBytes: () => MAX_LENGTH,
  comparable: toComparableText,
  fromQuery: normalizeText,
} satisfies FieldType;
