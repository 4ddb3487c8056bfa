import { z } from 'zod';
import { isStorable, UNSTORABLE } from '../../platform/postgres/storable.ts';
import type { FieldType } from './field-type.ts';
import { weaknessOf } from './weak-password.ts';

const MESSAGE = 'Must be 8 to 128 characters';

/** Passwords: the column holds a hash, made by the account feature before the value gets here. */
export const passwordType: FieldType = {
  kind: 'password',
  column: () => 'text',
  schema: () =>
    z
      .string({ error: 'Must be a string' })
      // Length first: nothing longer is looked at, let alone hashed.
      .refine((text) => text.length <= 256 && [...text].length >= 8 && [...text].length <= 128, {
        error: MESSAGE,
        abort: true,
      })
      .refine(isStorable, { error: UNSTORABLE, abort: true })
      .superRefine((text, context) => {
        const message = weaknessOf(text);
        if (message !== undefined) context.addIssue({ code: 'custom', message });
      }),
  jsonSchema: () => ({ type: 'string', format: 'password', minLength: 8, maxLength: 128 }),
  operators: [],
  comparisons: () => ['exists'],
  modifiers: [],
  concealed: true,
};
