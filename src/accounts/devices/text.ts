import { z } from 'zod';
import { isStorable, UNSTORABLE } from '../../platform/postgres/storable.ts';
import { longerThan } from '../../records/fields/text-rules.ts';

/** What is wrong with a text as a stored value of at most `max` characters (code points), or undefined. */
function textFault(text: string, max: number): string | undefined {
  if (!isStorable(text)) return UNSTORABLE;
  return longerThan(text, max) ? `Must be at most ${max} characters` : undefined;
}

/** The schema of a text of at most `max` characters. */
export function boundedText(max: number): z.ZodType<string, string> {
  return z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .superRefine((text, context) => {
      const message = textFault(text, max);
      if (message !== undefined) context.addIssue({ code: 'custom', message, input: text, continue: false });
    });
}

/**
 * What is wrong with a value as data of a notification, or undefined: a plain object that is JSON, can be stored and has
 * at most `maxBytes` bytes as JSON in UTF-8. Never throws, whatever is given.
 */
export function dataFault(value: unknown, maxBytes: number): string | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'Must be an object';
  let fault: string | undefined;
  const look = (key: string, item: unknown) => {
    if (!isStorable(key) || (typeof item === 'string' && !isStorable(item))) fault = UNSTORABLE;
    if (typeof item === 'number' && !Number.isFinite(item)) fault = 'Must not contain NaN or Infinity';
    return item;
  };
  try {
    const json: string | undefined = JSON.stringify(value, look);
    if (fault !== undefined) return fault;
    // An object with a toJSON of its own, such as a Date, is something else once it is JSON.
    if (!json?.startsWith('{')) return 'Must be an object';
    const bytes = Buffer.byteLength(json);
    return bytes > maxBytes ? `Must be at most ${maxBytes} bytes as JSON, and has ${bytes}` : undefined;
  } catch {
    return 'Must be JSON';
  }
}
