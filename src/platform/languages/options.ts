import type { ConfigErrors } from '../helpers/config-errors.ts';
import { suggestKnownNames } from '../helpers/did-you-mean.ts';
import { isLanguage, LANGUAGES, type Language } from '../helpers/language.ts';
import { findPlaceholderErrors, type Translations } from './catalogue.ts';

/** The options of `createApp` about languages. */
export interface LanguageOptions {
  /**
   * The languages in which clients get the messages of errors, the default first. The `Accept-Language` of a request chooses among them.
   * Default: English only, for every client. The names of codes and fields are the same in every language.
   *
   * @example languages: ['en', 'de']
   */
  languages?: readonly Language[];
  /**
   * Translations of the app's own messages, by language and English text. `{name}` stands for a value. A text of Belfry can be replaced
   * in the same way.
   *
   * @example messages: { de: { 'Room {number} is full': 'Raum {number} ist voll' } }
   */
  messages?: Readonly<Partial<Record<Exclude<Language, 'en'>, Translations>>>;
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function checkLanguages(languages: unknown, errors: ConfigErrors): void {
  if (!Array.isArray(languages) || languages.length === 0) {
    errors.report("must be a list of languages, the default first, such as ['en', 'de']");
    return;
  }
  for (const [i, language] of languages.entries()) {
    if (!isLanguage(language))
      errors.report(
        `"${String(language)}" is not a language of Belfry${suggestKnownNames(String(language), 'languages', LANGUAGES)}`,
      );
    else if (languages.indexOf(language) !== i) errors.report(`"${language}" is named twice`);
  }
}

function checkTranslation(english: string, text: unknown, errors: ConfigErrors): void {
  if (typeof text !== 'string' || text.trim() === '') {
    errors.report('must be a text');
    return;
  }
  for (const error of findPlaceholderErrors(english, text)) errors.report(error);
}

function checkMessages(messages: unknown, errors: ConfigErrors): void {
  if (!isPlainObject(messages)) {
    errors.report("must be an object such as { de: { 'The room is full': 'Der Raum ist voll' } }");
    return;
  }
  for (const [language, texts] of Object.entries(messages)) {
    if (!isLanguage(language) || language === 'en')
      errors.report(`"${language}" is not a language to translate to; languages: ${LANGUAGES.slice(1).join(', ')}`);
    else if (!isPlainObject(texts)) errors.at(language).report('must be an object of texts by their English message');
    else
      for (const [english, text] of Object.entries(texts))
        checkTranslation(english, text, errors.at(language).at(`"${english}"`));
  }
}

/** Checks the options of `createApp` about languages. */
export function checkLanguageOptions(
  { languages, messages }: { languages?: unknown; messages?: unknown },
  errors: ConfigErrors,
): void {
  if (languages !== undefined) checkLanguages(languages, errors.at('languages'));
  if (messages !== undefined) checkMessages(messages, errors.at('messages'));
}
