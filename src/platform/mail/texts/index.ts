import type { ConfigErrors } from '../../helpers/config-errors.ts';
import { suggestKnownNames } from '../../helpers/did-you-mean.ts';
import { isLanguage, type Language } from '../../helpers/language.ts';
import { canonicalLocale } from '../../helpers/locale.ts';
import type { ListedMail } from '../listed.ts';
import type { MailContent, MailTemplate, PasswordResetMail } from '../message.ts';
import { ACCOUNT_TEXTS as ACCOUNT_TEXTS_DE } from './account-texts.de.ts';
import { ACCOUNT_TEXTS as ACCOUNT_TEXTS_EN } from './account-texts.en.ts';
import { EXAMPLES } from './examples.ts';
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

/**
 * Texts of e-mails that replace the built-in ones, by kind and locale. A text is a function of the variables of its e-mail; it may be async,
 * and must escape values in `html` itself.
 *
 * @example mailTexts: { 'verify-email': { de: ({ link, code }) => ({ subject: 'Adresse bestätigen', text: `${link}\n\n${code}` }) } }
 */
export type MailOverrides = {
  readonly [K in MailKind]?: Readonly<Record<string, MailTemplate<MailVariables[K]>>>;
};

/** An e-mail in the list of all e-mails, for a preview. */
interface MailPreview extends ListedMail {
  /** Creates the e-mail in a locale with example values. */
  render(locale: string): Promise<MailContent>;
}

/** An e-mail of the project: its texts by canonical locale. */
export interface ProjectMailTexts {
  kind: string;
  description: string;
  texts: ReadonlyMap<string, MailTemplate<never>>;
  /** Variables for the preview. */
  example: unknown;
}

/** Creates the texts of e-mails. */
export interface MailTextRenderer {
  /**
   * Creates the text of an e-mail in the language of its recipient. A locale without a text falls back to its language, then to the setting
   * `mail.locale`, then to the default language of the app, in which every built-in e-mail has a text.
   *
   * @param locale the recipient's locale, such as `de-CH`; undefined if it is not known
   */
  render<K extends MailKind>(kind: K, about: MailVariables[K], locale: string | undefined): Promise<MailContent>;
  /**
   * The same for an e-mail of the project. A locale without a text falls back to its language, then to the setting `mail.locale`, then to
   * the default language of the app, then to English, then to the first text.
   */
  renderProjectMail(mail: ProjectMailTexts, about: unknown, locale: string | undefined): Promise<MailContent>;
  /** All e-mails, for a preview. */
  list(): MailPreview[];
}

/** A text that was found, and the locale in which it writes. */
interface FoundText {
  template: MailTemplate<never>;
  locale: string;
}

/** Returns the text of the first locale that has one, for the locale or for its language: `de-CH`, `de`. */
function findText(
  locales: readonly (string | undefined)[],
  textOf: (candidate: string) => MailTemplate<never> | undefined,
): FoundText | undefined {
  for (const locale of locales.map(canonicalLocale)) {
    if (locale === undefined) continue;
    const template = textOf(locale) ?? textOf(locale.split('-')[0]!);
    if (template !== undefined) return { template, locale };
  }
  return undefined;
}

/**
 * Creates the renderer of e-mail texts.
 *
 * @param overrides the option `mailTexts` of `createApp`, checked by `checkMailOverrides`
 * @param settings the settings `mail`. `templates.passwordReset` replaces the text in every locale
 * @param projectMails the e-mails of the project
 * @param languages the languages of the app, the default first: built-in e-mails are written in these
 */
export function createMailTextRenderer(
  overrides: MailOverrides,
  settings: {
    locale?: string | undefined;
    templates?: { passwordReset?: MailTemplate<PasswordResetMail> | undefined };
  },
  projectMails: readonly ProjectMailTexts[] = [],
  languages: readonly Language[] = ['en'],
): MailTextRenderer {
  const replaced = new Map(
    Object.entries(overrides).map(([kind, templates]) => [
      kind,
      new Map(Object.entries(templates ?? {}).map(([locale, template]) => [canonicalLocale(locale)!, template])),
    ]),
  );
  const [defaultLanguage = 'en'] = languages;
  const resetText = settings.templates?.passwordReset;

  function findTemplate(kind: MailKind, recipient: string | undefined): FoundText {
    const locales = [recipient, settings.locale, defaultLanguage];
    if (kind === 'password-reset' && resetText !== undefined)
      return { template: resetText, locale: locales.map(canonicalLocale).find((one) => one !== undefined)! };
    const found = findText(locales, (candidate) => {
      const own = replaced.get(kind)?.get(candidate) as MailTemplate<never> | undefined;
      if (own !== undefined || !isLanguage(candidate) || !languages.includes(candidate)) return own;
      return BUILT_IN_TEXTS[candidate][kind];
    });
    // The default language always has a built-in text.
    return found!;
  }

  const findProjectTemplate = ({ texts }: ProjectMailTexts, recipient: string | undefined): FoundText =>
    findText([recipient, settings.locale, defaultLanguage, 'en', ...texts.keys()], (one) => texts.get(one))!;

  const write = async ({ template, locale }: FoundText, about: unknown) => template(about as never, { locale });
  const listProjectMails = () =>
    projectMails.map((mail) => ({
      kind: mail.kind,
      description: mail.description,
      origin: 'project' as const,
      locales: [...mail.texts.keys()],
      render: (locale: string) => write(findProjectTemplate(mail, locale), mail.example),
    }));
  const isReplaced = (kind: MailKind) =>
    (replaced.get(kind)?.size ?? 0) > 0 || (kind === 'password-reset' && resetText !== undefined);
  const listBuiltInMails = () =>
    (Object.keys(EXAMPLES) as MailKind[]).map((kind) => ({
      kind,
      description: '',
      origin: isReplaced(kind) ? ('replaced' as const) : ('built-in' as const),
      locales: [...new Set([...languages, ...(replaced.get(kind)?.keys() ?? [])])],
      render: (locale: string) => write(findTemplate(kind, locale), EXAMPLES[kind]),
    }));
  return {
    render: (kind, about, locale) => write(findTemplate(kind, locale), about),
    renderProjectMail: (mail, about, locale) => write(findProjectTemplate(mail, locale), about),
    list: () => [...listProjectMails(), ...listBuiltInMails()],
  };
}

/** Whether an e-mail of Belfry has this kind. */
export function isBuiltInMail(kind: string): boolean {
  return Object.hasOwn(EXAMPLES, kind);
}

/** Checks the option `mailTexts` of `createApp`. */
export function checkMailOverrides(overrides: unknown, errors: ConfigErrors): void {
  if (overrides === undefined) return;
  if (typeof overrides !== 'object' || overrides === null || Array.isArray(overrides)) {
    errors.report("must be an object such as { 'verify-email': { de: (about) => ({ subject, text }) } }");
    return;
  }
  for (const [kind, templates] of Object.entries(overrides)) {
    const at = errors.at(kind);
    if (!Object.hasOwn(EXAMPLES, kind)) {
      errors.report(`"${kind}" is not an e-mail${suggestKnownNames(kind, 'e-mails', Object.keys(EXAMPLES))}`);
    } else if (typeof templates !== 'object' || templates === null || Array.isArray(templates)) {
      at.report('must be an object of functions by locale, such as { de: (about) => ({ subject, text }) }');
    } else {
      for (const [locale, template] of Object.entries(templates)) {
        if (canonicalLocale(locale) === undefined) at.report(`"${locale}" is not a locale; write en or de-CH`);
        else if (typeof template !== 'function') at.at(locale).report('must be a function');
      }
    }
  }
}
