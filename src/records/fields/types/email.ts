import { Field } from '../../../declare/field.ts';
import { EMAIL_PATTERN, emailSchema, MAX_EMAIL_LENGTH } from '../../../platform/helpers/email-address.ts';
import { TEXT } from '../column-type.ts';
import { COUNTED_VALUES, EQUALITY_COMPARISONS, type FieldType, ORDER_COMPARISONS } from '../field-type.ts';
import { textJsonSchema } from '../json-schema.ts';
import { normalizeText, shortTextSchema, TEXT_MODIFIERS, textBoundErrors, toComparableText } from '../text-rules.ts';

const address = emailSchema('Must be a valid e-mail address');

/** E-mail addresses, trimmed and lower-cased. */
export const emailType = {
  kind: 'email',
  field: (): Field<string> => new Field({ type: emailType, trim: true, lowercase: true }),
  column: TEXT,
  schema: (spec, context) => shortTextSchema(spec, context).pipe(address),
  jsonSchema: (spec, _inner, direction) => ({
    maxLength: MAX_EMAIL_LENGTH,
    ...textJsonSchema(spec, direction),
    format: 'email',
    // Stored addresses may be older than the rules.
    ...(direction === 'input' ? { pattern: EMAIL_PATTERN.source } : {}),
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
    ...(Number(spec.min?.value) > MAX_EMAIL_LENGTH
      ? [
          `min(${spec.min?.value}) is greater than ${MAX_EMAIL_LENGTH}, the maximum length of an e-mail address; lower it`,
        ]
      : []),
  ],
  textual: true,
  indexMethod: () => 'btree',
  indexedBytes: () => MAX_EMAIL_LENGTH,
  comparable: toComparableText,
  fromQuery: normalizeText,
} satisfies FieldType;
