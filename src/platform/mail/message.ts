import { z } from 'zod';
import { validationError } from '../errors.ts';
import { isStorable } from '../postgres/storable.ts';

/** An e-mail to one person. */
export interface MailMessage {
  /** One address, without a name. */
  to: string;
  subject: string;
  text: string;
  /** Made from the text when left out. */
  html?: string | undefined;
}

/** What an e-mail says. */
export type MailContent = Omit<MailMessage, 'to'>;

/** An e-mail that can be sent as it is. */
export type WholeMail = Required<MailMessage> & { html: string };

const MALFORMED = 'Must be a text without NUL or broken characters';

const words = (most: number) =>
  z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .min(1, { error: 'Is required' })
    .max(most, { error: `Must be at most ${most} characters` })
    .refine(isStorable, { error: MALFORMED });

const schema = z.strictObject({
  // One address and no list of them: what a user typed must not reach a second box.
  to: z.email({ error: 'Must be one e-mail address' }).max(254, { error: 'Must be at most 254 characters' }),
  subject: words(250).refine((text) => !/[\p{Cc}\u2028\u2029]/u.test(text), { error: 'Must be a single line' }),
  text: words(100_000),
  html: words(500_000).optional(),
});

/** Text as HTML that says the same: `&`, `<` and the like are what they look like. */
export function escapeHtml(text: string): string {
  const entities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replaceAll(/[&<>"']/g, (sign) => entities[sign]!);
}

function htmlOf(text: string): string {
  const paragraphs = text.trim().split(/\n{2,}/);
  return paragraphs.map((each) => `<p>${escapeHtml(each).replaceAll('\n', '<br>')}</p>`).join('\n');
}

/**
 * Checks an e-mail and fills in its HTML.
 *
 * @throws ApiError VALIDATION_ERROR with a message per field
 */
export function readMail(input: unknown): WholeMail {
  const parsed = schema.safeParse(input);
  if (parsed.success) return { ...parsed.data, html: parsed.data.html ?? htmlOf(parsed.data.text) };
  const details: Record<string, string> = {};
  for (const issue of parsed.error.issues) {
    if (issue.code === 'unrecognized_keys') for (const key of issue.keys) details[key] ??= 'Unknown field';
    else details[issue.path.join('.') || 'mail'] ??= issue.message;
  }
  throw validationError(details);
}
