import type { ConfigErrors } from '../../helpers/config-errors.ts';
import { suggestKnownNames } from '../../helpers/did-you-mean.ts';
import { canonicalLocale } from '../../helpers/locale.ts';
import type { MailContent, MailTemplate, PasswordResetMail } from '../message.ts';
import { ACCOUNT_TEXTS, type MailTexts } from './account-texts.ts';
import { NOTICE_TEXTS } from './notice-texts.ts';
import type { MailKind, MailVariables } from './variables.ts';

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
interface MailPreview {
  kind: string;
  description: string;
  /** `project`: the project declares it; `replaced`: a built-in e-mail with texts of the project; `built-in`. */
  origin: 'project' | 'replaced' | 'built-in';
  /** The locales that have a text. Of built-in e-mails, `en` is always one of them. */
  locales: readonly string[];
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
   * `mail.locale`, then to the built-in English text.
   *
   * @param locale the recipient's locale, such as `de-CH`; undefined if it is not known
   */
  render<K extends MailKind>(kind: K, about: MailVariables[K], locale: string | undefined): Promise<MailContent>;
  /**
   * The same for an e-mail of the project. A locale without a text falls back to its language, then to the setting `mail.locale`, then to
   * English, then to the first text.
   */
  renderProjectMail(mail: ProjectMailTexts, about: unknown, locale: string | undefined): Promise<MailContent>;
  /** All e-mails, for a preview. */
  list(): MailPreview[];
}

const TEXTS: MailTexts<MailKind> = { ...ACCOUNT_TEXTS, ...NOTICE_TEXTS };
const BUILT_IN_LOCALE = 'en';

/** Returns a locale and its language: `de-CH`, `de`. */
function withLanguage(locale: string | undefined): string[] {
  const canonical = canonicalLocale(locale);
  return canonical === undefined ? [] : [canonical, canonical.split('-')[0]!];
}

/**
 * Creates the renderer of e-mail texts.
 *
 * @param overrides the option `mailTexts` of `createApp`, checked by `checkMailOverrides`
 * @param settings the settings `mail`. `templates.passwordReset` replaces the text in every locale
 * @param projectMails the e-mails of the project
 */
export function createMailTextRenderer(
  overrides: MailOverrides,
  settings: { locale: string; templates?: { passwordReset?: MailTemplate<PasswordResetMail> | undefined } },
  projectMails: readonly ProjectMailTexts[] = [],
): MailTextRenderer {
  const replaced = new Map(
    Object.entries(overrides).map(([kind, templates]) => [
      kind,
      new Map(Object.entries(templates ?? {}).map(([locale, template]) => [canonicalLocale(locale)!, template])),
    ]),
  );
  const findTemplate = (kind: string, locale: string | undefined): MailTemplate<never> => {
    if (kind === 'password-reset' && settings.templates?.passwordReset) return settings.templates.passwordReset;
    for (const candidate of [...withLanguage(locale), ...withLanguage(settings.locale)]) {
      const template = replaced.get(kind)?.get(candidate);
      if (template !== undefined) return template as MailTemplate<never>;
      if (candidate === BUILT_IN_LOCALE) break;
    }
    return TEXTS[kind as MailKind].template as MailTemplate<never>;
  };
  const findProjectTemplate = ({ texts }: ProjectMailTexts, locale: string | undefined) => {
    const candidates = [...withLanguage(locale), ...withLanguage(settings.locale), BUILT_IN_LOCALE, ...texts.keys()];
    return texts.get(candidates.find((candidate) => texts.has(candidate))!)!;
  };
  const listProjectMails = () =>
    projectMails.map((mail) => ({
      kind: mail.kind,
      description: mail.description,
      origin: 'project' as const,
      locales: [...mail.texts.keys()],
      render: async (locale: string) => findProjectTemplate(mail, locale)(mail.example as never),
    }));
  const isReplaced = (kind: string) =>
    (replaced.get(kind)?.size ?? 0) > 0 ||
    (kind === 'password-reset' && settings.templates?.passwordReset !== undefined);
  const listBuiltInMails = () =>
    Object.entries(TEXTS).map(([kind, { description, example }]) => ({
      kind,
      description,
      origin: isReplaced(kind) ? ('replaced' as const) : ('built-in' as const),
      locales: [...new Set([BUILT_IN_LOCALE, ...(replaced.get(kind)?.keys() ?? [])])],
      render: async (locale: string) => findTemplate(kind, locale)(example as never),
    }));
  return {
    render: async (kind, about, locale) => findTemplate(kind, locale)(about as never),
    renderProjectMail: async (mail, about, locale) => findProjectTemplate(mail, locale)(about as never),
    list: () => [...listProjectMails(), ...listBuiltInMails()],
  };
}

/** Whether an e-mail of Belfry has this kind. */
export function isBuiltInMail(kind: string): boolean {
  return Object.hasOwn(TEXTS, kind);
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
    if (!Object.hasOwn(TEXTS, kind)) {
      errors.report(`"${kind}" is not an e-mail${suggestKnownNames(kind, 'e-mails', Object.keys(TEXTS))}`);
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
