import { z } from 'zod';

/** Maximum characters of an e-mail address. RFC 5321 §4.5.3.1.3: a path has at most 256 octets, including its angle brackets. */
export const MAX_EMAIL_LENGTH = 254;

// RFC 5321 §4.1.2: a dot-atom of at most 64 characters. Quoted local parts are valid, too, but hardly any mail server accepts them.
const ATOM = "[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+";
const LOCAL_PART = `(?=[^@]{1,64}@)${ATOM}(?:\\.${ATOM})*`;
// RFC 1035 §2.3.4 and RFC 1123 §2.1: labels of at most 63 characters, without a hyphen at either end.
const LABEL = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?';
const TOP_LABEL = '(?:[A-Za-z]{2,63}|[Xx][Nn]--[A-Za-z0-9-]{0,58}[A-Za-z0-9])';

/**
 * The e-mail addresses that Belfry accepts, together with `MAX_EMAIL_LENGTH`. It is ASCII only, so that lower-casing works the same here and in
 * Postgres, and no look-alike creates a second account. Without flags, so that JSON Schema can state it.
 */
export const EMAIL_PATTERN = new RegExp(`^${LOCAL_PART}@(?:${LABEL}\\.)+${TOP_LABEL}$`);

/** Whether a text is an e-mail address to which e-mail can be sent, such as `ada@example.com`. */
export function isEmailAddress(text: string): boolean {
  return text.length <= MAX_EMAIL_LENGTH && EMAIL_PATTERN.test(text);
}

/** Returns the schema of a text that must be an e-mail address as it is: nothing is trimmed, and the case is kept. */
export function emailSchema(error: string): z.ZodType<string, string> {
  return z
    .string({ error })
    .max(MAX_EMAIL_LENGTH, { error, abort: true })
    .check(z.email({ error, pattern: EMAIL_PATTERN }));
}

/** Maximum characters of an address as it is sent, with the space around it. */
const MAX_SENT_LENGTH = 320;

/** The schema of the e-mail address in a request body, trimmed and lower-cased as accounts have it. */
export const emailInput = z
  .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
  .max(MAX_SENT_LENGTH, { error: `Must be at most ${MAX_SENT_LENGTH} characters`, abort: true })
  .trim()
  .toLowerCase()
  .max(MAX_EMAIL_LENGTH, { error: `Must be at most ${MAX_EMAIL_LENGTH} characters` })
  .pipe(emailSchema('Must be a valid e-mail address'))
  .meta({ format: 'email', pattern: EMAIL_PATTERN.source });

/** The e-mail address in a response. It promises no more than an address: stored ones may be older than the rules. */
export const emailShape = z.string().meta({ format: 'email' });
