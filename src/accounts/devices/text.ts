import { z } from 'zod';
import { isStorable, UNSTORABLE } from '../../platform/data/postgres/values.ts';
import { isLongerThan } from '../../records/fields/text-rules.ts';

/** Returns an error if a text cannot be stored or has more than `max` code points. */
function textError(text: string, max: number): string | undefined {
  if (!isStorable(text)) return UNSTORABLE;
  return isLongerThan(text, max) ? `Must be at most ${max} characters` : undefined;
}

/** The schema of a text of at most `max` characters. */
export function boundedTextSchema(max: number): z.ZodType<string, string> {
  return z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .superRefine((text, context) => {
      const message = textError(text, max);
      if (message !== undefined) context.addIssue({ code: 'custom', message, input: text, continue: false });
    });
}

/**
 * Returns an error if a value cannot be the data of a notification: it must be a plain JSON object that can be stored and has at
 * most `maxBytes` bytes as JSON in UTF-8. Never throws.
 */
export function notificationDataError(value: unknown, maxBytes: number): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'Must be an object';
  let error: string | undefined;
  const checkJsonEntry = (key: string, item: unknown) => {
    if (!isStorable(key) || (typeof item === 'string' && !isStorable(item))) error = UNSTORABLE;
    if (typeof item === 'number' && !Number.isFinite(item)) error = 'Must not contain NaN or Infinity';
    return item;
  };
  try {
    const json: string | undefined = JSON.stringify(value, checkJsonEntry);
    if (error !== undefined) return error;
    // An object with its own toJSON, such as a Date, may not become a JSON object.
    if (!json?.startsWith('{')) return 'Must be an object';
    const bytes = Buffer.byteLength(json);
    return bytes > maxBytes ? `Must be at most ${maxBytes} bytes as JSON, but has ${bytes}` : undefined;
  } catch {
    return 'Must be serializable as JSON';
  }
}
