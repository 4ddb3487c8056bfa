import { z } from 'zod';
import { Field } from '../../../declare/field.ts';
import { isStorable, UNSTORABLE } from '../../../platform/data/postgres/values.ts';
import { TEXT } from '../column-type.ts';
import type { FieldType } from '../field-type.ts';
import { findPasswordWeakness } from '../password-strength.ts';

const MESSAGE = 'Must be 8 to 128 characters';

/** Passwords: the column holds a hash, which the account feature creates before the value gets here. */
export const passwordType = {
  kind: 'password',
  field: (): Field<undefined, 'optional', string, string, 'password', 'concealed'> => new Field({ type: passwordType }),
  column: TEXT,
  schema: () =>
    z
      .string({ error: 'Must be a string' })
      // Check the length first: a longer text is neither examined nor hashed.
      .refine((text) => text.length <= 256 && [...text].length >= 8 && [...text].length <= 128, {
        error: MESSAGE,
        abort: true,
      })
      .refine(isStorable, { error: UNSTORABLE, abort: true })
      .superRefine((text, context) => {
        const message = findPasswordWeakness(text);
        if (message !== undefined) context.addIssue({ code: 'custom', message });
      }),
  jsonSchema: () => ({ type: 'string', format: 'password', minLength: 8, maxLength: 128 }),
  jsonType: 'string',
  freeText: true,
  personal: 'never',
  operators: [],
  comparisons: () => ['exists'],
  modifiers: [],
  concealed: true,
} satisfies FieldType;
