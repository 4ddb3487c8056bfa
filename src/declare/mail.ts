import type { StandardSchema } from '../platform/helpers/standard-schema.ts';
import type { MailTemplate } from '../platform/mail/message.ts';

/** The options of an e-mail of the project. */
export interface MailOptions<Input, Output = Input> {
  /** When the e-mail is sent, as a sentence for the preview. */
  description?: string | undefined;
  /** Checks the variables: zod, or any Standard Schema of an object. Without it, the e-mail has no variables. */
  input?: StandardSchema<Output, Input> | undefined;
  /**
   * The texts by locale. A text is a function of the variables; it may be async, and must escape values in `html` itself. Without `html`,
   * the HTML is generated from the text.
   */
  texts: Readonly<Record<string, MailTemplate<Output>>>;
  /** Variables for the preview. */
  example?: Input | undefined;
}

/** An e-mail of the project, created with `defineMail`. */
export interface MailDeclaration<Input = object> {
  readonly name: string;
  // biome-ignore lint/suspicious/noExplicitAny: the output of the schema is known to the texts only
  readonly options: MailOptions<any, any>;
  /** Type-level only. */
  readonly $input?: Input | undefined;
}

/** An e-mail of the project with any variables. */
// biome-ignore lint/suspicious/noExplicitAny: stands for the variables of any e-mail
export type AnyMail = MailDeclaration<any>;

/** The type of the variables of an e-mail. */
export type MailValuesOf<M extends AnyMail> = NonNullable<M['$input']>;

/** The recipient of an e-mail of the project. */
export type MailRecipient = {
  /** The locale of the text. Default: the field `locale` of the user, or the setting `mail.locale`. */
  locale?: string | undefined;
} & (
  | {
      /** A single address. */
      to: string;
      user?: undefined;
    }
  | {
      to?: undefined;
      /** The id of a user, or the user's record. */
      user: string | { id: string; email?: unknown };
    }
);

/**
 * Declares an e-mail of the project. Add it to the option `mails` of `createApp`, and send it with `mail.send`. The developer
 * console shows it with its example.
 *
 * @param name lower case, with hyphens: `ticket-closed`
 * @example
 * const ticketClosed = defineMail('ticket-closed', {
 *   input: z.strictObject({ title: z.string() }),
 *   texts: { en: ({ title }) => ({ subject: `Closed: ${title}`, text: 'We have closed your ticket.' }) },
 *   example: { title: 'The printer is on fire' },
 * });
 */
export function defineMail<Input = object, Output = Input>(
  name: string,
  options: MailOptions<Input, Output>,
): MailDeclaration<Input> {
  return { name, options };
}
