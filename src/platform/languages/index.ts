import type { Request } from 'express';
import { ApiError, type ErrorDetails } from '../helpers/errors.ts';
import { findPageLanguage, type Language } from '../helpers/language.ts';
import { createTranslate, type LanguageTexts, type Translate } from './catalogue.ts';
import { german } from './de/index.ts';
import type { LanguageOptions } from './options.ts';

type RequestWithLanguage = Pick<Request, 'headers' | 'acceptsLanguages'>;

/** What Belfry says, in one language. Texts that the catalogue does not have stay as they are. */
export interface Translation {
  /** The headers of a response with an error: none, unless the app or a page of Belfry asks for languages. */
  readonly headers: { readonly contentLanguage: Language | undefined; readonly vary: 'Accept-Language' | undefined };
  /** Returns an error with its message and details in the language. */
  error(error: ApiError): ApiError;
  /** Returns messages by field in the language. */
  details(details: ErrorDetails): ErrorDetails;
  text(text: string): string;
  /** Returns an object with some of its texts in the language. Members that are left out, and other values, stay as they are. */
  members<T extends object>(part: T, names: readonly (keyof T & string)[]): T;
}

/** The languages of an app. */
export interface Languages {
  /**
   * Returns the language for the response to a request: that of the page of Belfry which sent it, otherwise the one of the app's languages
   * that the client prefers.
   */
  of(req: RequestWithLanguage): Language;
  /** Returns the translation into the language of a request. */
  for(req: RequestWithLanguage): Translation;
}

const TEXTS: Record<Exclude<Language, 'en'>, LanguageTexts> = { de: german };
const ENGLISH_ONLY: readonly Language[] = ['en'];

/** Creates the translation into a language other than English. Its texts are compiled when they are first needed. */
function createTranslation(create: () => Translate, headers: Translation['headers']): Translation {
  let compiled: Translate | undefined;
  const text: Translate = (english) => {
    compiled ??= create();
    return compiled(english);
  };
  const details = (english: ErrorDetails) =>
    Object.fromEntries(Object.entries(english).map(([name, message]) => [name, text(message)]));
  const members: Translation['members'] = (part, names) => {
    const translated = { ...part };
    for (const name of names) {
      const value: unknown = part[name];
      if (typeof value === 'string') Object.assign(translated, { [name]: text(value) });
    }
    return translated;
  };
  return {
    headers,
    text,
    members,
    details,
    error: (english) =>
      new ApiError(english.code, text(english.message), {
        ...(english.details && { details: details(english.details) }),
        ...(english.retryAfter !== undefined && { retryAfter: english.retryAfter }),
        cause: english,
      }),
  };
}

/** @param options checked by `checkLanguageOptions` */
export function createLanguages({ languages = ENGLISH_ONLY, messages = {} }: LanguageOptions): Languages {
  const choices = [...languages];
  const fallback = choices[0] ?? 'en';
  const negotiate = (req: Pick<Request, 'acceptsLanguages'>) =>
    choices.find((language) => language === req.acceptsLanguages(choices)) ?? fallback;
  const of = (req: RequestWithLanguage) => findPageLanguage(req) ?? (choices.length > 1 ? negotiate(req) : fallback);
  const vary = choices.length > 1 ? ('Accept-Language' as const) : undefined;
  const english: Translation = {
    headers: { contentLanguage: vary && 'en', vary },
    error: (error) => error,
    details: (details) => details,
    text: (text) => text,
    members: (part) => part,
  };
  const translations: Record<Language, Translation> = {
    en: english,
    de: createTranslation(() => createTranslate(TEXTS.de, messages.de), { contentLanguage: 'de', vary }),
  };
  return { of, for: (req) => translations[of(req)] };
}
