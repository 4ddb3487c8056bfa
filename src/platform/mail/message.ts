import { z } from 'zod';
import { isStorable } from '../data/postgres/values.ts';
import { emailSchema } from '../helpers/email-address.ts';
import { validationError } from '../helpers/errors.ts';
import { escapeHtml } from '../helpers/escape-html.ts';

/** An e-mail to one recipient. */
export interface MailMessage {
  /** A single address, without a name. */
  to: string;
  subject: string;
  text: string;
  /** Default: generated from the text. */
  html?: string | undefined;
}

/** The subject and text of an e-mail. */
export type MailContent = Omit<MailMessage, 'to'>;

/** An e-mail that is ready to send. */
export type CompleteMail = Required<MailMessage> & { html: string };

const MALFORMED = 'Must be a text without NUL or broken characters';

const textSchema = (most: number) =>
  z
    .string({ error: (issue) => (issue.input === undefined ? 'Is required' : 'Must be a string') })
    .min(1, { error: 'Is required' })
    .max(most, { error: `Must be at most ${most} characters` })
    .refine(isStorable, { error: MALFORMED });

const schema = z.strictObject({
  // A single address, not a list: an address typed by a user must not reach a second mailbox.
  to: emailSchema('Must be a single e-mail address'),
  subject: textSchema(250).refine((text) => !/[\p{Cc}\u2028\u2029]/u.test(text), { error: 'Must be a single line' }),
  text: textSchema(100_000),
  html: textSchema(500_000).optional(),
});

function textToHtml(text: string): string {
  const paragraphs = text.trim().split(/\n{2,}/);
  return paragraphs.map((each) => `<p>${escapeHtml(each).replaceAll('\n', '<br>')}</p>`).join('\n');
}

/**
 * Validates an e-mail and fills in its HTML.
 *
 * @throws ApiError VALIDATION_ERROR with a message per field
 */
export function validateMail(input: unknown): CompleteMail {
  const parsed = schema.safeParse(input);
  if (parsed.success) return { ...parsed.data, html: parsed.data.html ?? textToHtml(parsed.data.text) };
  const details: Record<string, string> = {};
  for (const issue of parsed.error.issues) {
    if (issue.code === 'unrecognized_keys') for (const key of issue.keys) details[key] ??= 'Unknown field';
    else details[issue.path.join('.') || 'mail'] ??= issue.message;
  }
  throw validationError(details);
}

/** The input of the password reset e-mail. */
export interface PasswordResetMail {
  /**
   * The user's record: every field except passwords. Treat the values as untrusted: a user can enter another person's e-mail address, so
   * that this person receives them.
   */
  user: { id: string; [field: string]: unknown };
  /** The link for setting a new password: `auth.resetUrl` with the token. */
  link: string;
  /** How long the link works, in minutes. */
  minutes: number;
}

/** How an e-mail is to be written. */
export interface MailWriting {
  /**
   * The locale of the e-mail, such as `de-CH`: that of the recipient if the text is in its language, otherwise that of the text. For
   * `mail.templates`, whose texts are not by locale, that of the recipient.
   */
  locale: string;
}

/** Creates the text of an e-mail. Without `html`, the HTML is generated from the text. The template must escape values in `html` itself. */
export type MailTemplate<About> = (about: About, writing: MailWriting) => MailContent | Promise<MailContent>;
