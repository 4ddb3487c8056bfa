import type { Request } from 'express';
import { findPageLanguage, isLanguage } from './language.ts';

/** Maximum length of a locale in characters: that of the longest registered ones (RFC 5646). */
const MAX_LOCALE = 35;

/** Returns the canonical form of a locale, `de-CH`; undefined for a text that is not a locale. */
export function canonicalLocale(text: unknown): string | undefined {
  if (typeof text !== 'string' || text.length > MAX_LOCALE) return undefined;
  try {
    return Intl.getCanonicalLocales(text)[0];
  } catch {
    return undefined;
  }
}

const languageOf = (locale: string) => locale.split('-')[0]!;

/**
 * Returns the locale that the client of a request prefers; undefined if it sends none. If a page of Belfry sent the request, this is a locale
 * of the page's language, unless the page is in English only because Belfry does not have the language of the browser.
 */
export function findPreferredLocale(req: Pick<Request, 'acceptsLanguages' | 'headers'>): string | undefined {
  // Without the header, Express returns `*`.
  const accepted = req
    .acceptsLanguages()
    .map(canonicalLocale)
    .filter((locale) => locale !== undefined);
  const [first] = accepted;
  const page = findPageLanguage(req);
  if (page === undefined || (page === 'en' && first !== undefined && !isLanguage(languageOf(first)))) return first;
  return accepted.find((locale) => languageOf(locale) === page) ?? page;
}

/**
 * Returns the locale of a user: the field `locale` of their record, if the project's user resource has one.
 *
 * @param fallback the locale of the request that caused the e-mail
 */
export function localeOfUser(user: Readonly<Record<string, unknown>>, fallback?: unknown): string | undefined {
  return canonicalLocale(user.locale) ?? canonicalLocale(fallback);
}
