import type { Request } from 'express';

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

/** Returns the locale that the client of a request prefers; undefined if it sends none. */
export function findPreferredLocale(req: Pick<Request, 'acceptsLanguages'>): string | undefined {
  // Without the header, Express returns `*`.
  return req
    .acceptsLanguages()
    .map(canonicalLocale)
    .find((locale) => locale !== undefined);
}

/**
 * Returns the locale of a user: the field `locale` of their record, if the project's user resource has one.
 *
 * @param fallback the locale of the request that caused the e-mail
 */
export function localeOfUser(user: Readonly<Record<string, unknown>>, fallback?: unknown): string | undefined {
  return canonicalLocale(user.locale) ?? canonicalLocale(fallback);
}
