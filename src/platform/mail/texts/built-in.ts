import type { Language } from '../../helpers/language.ts';
import type { MailTemplate } from '../message.ts';
import { ACCOUNT_TEXTS as ACCOUNT_TEXTS_DE } from './account-texts.de.ts';
import { ACCOUNT_TEXTS as ACCOUNT_TEXTS_EN } from './account-texts.en.ts';
import { NOTICE_TEXTS as NOTICE_TEXTS_DE } from './notice-texts.de.ts';
import { NOTICE_TEXTS as NOTICE_TEXTS_EN } from './notice-texts.en.ts';
import type { MailKind, MailVariables } from './variables.ts';

/** The built-in texts of e-mails, by kind. */
type MailTexts = { readonly [K in MailKind]: MailTemplate<MailVariables[K]> };

/** The built-in texts of e-mails, by language. No language lacks a text. */
export const BUILT_IN_TEXTS: Readonly<Record<Language, MailTexts>> = {
  en: { ...ACCOUNT_TEXTS_EN, ...NOTICE_TEXTS_EN },
  de: { ...ACCOUNT_TEXTS_DE, ...NOTICE_TEXTS_DE },
};
