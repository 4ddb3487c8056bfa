import { sentenceCase } from '../../console/kit.ts';
import { language, loadTexts, locale } from '../../kit/language.ts';
import { en } from './texts.en.ts';

/** The texts in the language of the page. */
export const texts = await loadTexts(en, { de: async () => (await import('./texts.de.ts')).de });

const BUILT_IN = new Map(Object.entries(texts.kinds));

/** What people call an e-mail: `ticket-closed` of the app is `Ticket closed`. */
export const kindName = (kind: string): string => BUILT_IN.get(kind)?.name ?? sentenceCase(kind.replaceAll('-', ' '));

/** When an e-mail of Belfry is sent; undefined for those of the app. */
export const kindSummary = (kind: string): string | undefined => BUILT_IN.get(kind)?.when;

/** The locale in which an e-mail is shown first: that of the page, else English, else any. */
export const firstLocale = (locales: readonly string[]): string | undefined =>
  [language, 'en'].find((one) => locales.includes(one)) ?? locales[0];

const localeNames = new Intl.DisplayNames([locale], { type: 'language' });

/** The name of a locale in the language of the page: `German` or, with a region, `Austrian German`. */
export const localeName = (one: string): string => localeNames.of(one) ?? one;
