import { z } from 'zod';
import { canonicalLocale } from '../helpers/locale.ts';
import { functionSetting } from '../helpers/setting-limits.ts';
import type { MailTemplate, PasswordResetMail } from './message.ts';

/** The section `mail` of the settings. */
export const mailSettings = z
  .strictObject({
    /** The locale of e-mails to recipients whose locale is not known or has no text. Default: the first of the app's languages. */
    locale: z
      .string()
      .refine((locale) => canonicalLocale(locale) !== undefined, { error: 'must be a locale, such as en or de-CH' })
      .optional(),
    /** Replacements for the built-in e-mail texts. */
    templates: z
      .strictObject({ passwordReset: functionSetting<MailTemplate<PasswordResetMail>>().optional() })
      .prefault({}),
  })
  .prefault({});
