import type { Request } from 'express';

/** The languages of Belfry's own texts. English is the language of the source. */
export const LANGUAGES = ['en', 'de'] as const;

export type Language = (typeof LANGUAGES)[number];

/** The header in which Belfry's pages name their language. */
const PAGE_LANGUAGE_HEADER = 'belfry-language';

/** Whether a text is the name of a language of Belfry. */
export function isLanguage(text: unknown): text is Language {
  return LANGUAGES.some((language) => language === text);
}

/** Returns the language of the page of Belfry that sent a request; undefined if no such page sent it. */
export function findPageLanguage({ headers }: Pick<Request, 'headers'>): Language | undefined {
  const name = headers[PAGE_LANGUAGE_HEADER];
  return isLanguage(name) ? name : undefined;
}
