import express from 'express';
import { expect, test } from 'vitest';
import { createLanguages } from '../../../src/platform/languages/index.ts';
import type { LanguageOptions } from '../../../src/platform/languages/options.ts';
import { getStartupError } from '../../support/startup-error.ts';

/** Returns the language of the response to a request with these headers. */
function languageOf(headers: Record<string, string>, languages?: LanguageOptions['languages']): string {
  const req = Object.create(express.request, { headers: { value: headers } });
  return createLanguages({ ...(languages && { languages }) }).of(req);
}

test.each<[accepted: string, expected: string]>([
  ['de', 'de'],
  ['de-CH', 'de'],
  ['de-CH-1996', 'de'],
  ['DE', 'de'],
  ['fr', 'en'],
  ['fr, de;q=0.2', 'de'],
  ['en;q=0.4, de;q=0.5', 'de'],
  ['en;q=0.5, de;q=0.4', 'en'],
  ['de;q=0, en', 'en'],
  ['de;q=abc, en;q=0.1', 'en'],
  ['*', 'en'],
  ['*;q=0.1, de', 'de'],
  ['en, de', 'en'],
  ['', 'en'],
  [',,;;q=1,\u0000', 'en'],
  ['zz, '.repeat(3000), 'en'],
])('of English and German, a client that accepts %s gets %s', (accepted, expected) => {
  expect(languageOf({ 'accept-language': accepted }, ['en', 'de'])).toBe(expected);
});

test.each<[languages: LanguageOptions['languages'], headers: Record<string, string>, expected: string]>([
  [undefined, { 'accept-language': 'de' }, 'en'],
  [undefined, {}, 'en'],
  [['de'], { 'accept-language': 'en' }, 'de'],
  [['de', 'en'], {}, 'de'],
  [['de', 'en'], { 'accept-language': 'fr' }, 'de'],
  [['de', 'en'], { 'accept-language': 'en-GB' }, 'en'],
  [undefined, { 'belfry-language': 'de' }, 'de'],
  [['de', 'en'], { 'belfry-language': 'en', 'accept-language': 'de' }, 'en'],
  [undefined, { 'belfry-language': 'fr', 'accept-language': 'de' }, 'en'],
  [undefined, { 'belfry-language': 'constructor' }, 'en'],
  [['en', 'de'], { 'belfry-language': 'de, de', 'accept-language': 'en' }, 'en'],
])('with the languages %j, a request with %j gets %s', (languages, headers, expected) => {
  expect(languageOf(headers, languages)).toBe(expected);
});

test.each<[options: object, error: string]>([
  [{ languages: 'de' }, "languages: must be a list of languages, the default first, such as ['en', 'de']"],
  [{ languages: [] }, "languages: must be a list of languages, the default first, such as ['en', 'de']"],
  [{ languages: ['en', 'dee'] }, 'languages: "dee" is not a language of Belfry. Did you mean "de"?'],
  [{ languages: [5] }, 'languages: "5" is not a language of Belfry; languages: en, de'],
  [{ languages: ['de', 'de'] }, 'languages: "de" is named twice'],
  [{ messages: [] }, "messages: must be an object such as { de: { 'The room is full': 'Der Raum ist voll' } }"],
  [{ messages: { en: {} } }, 'messages: "en" is not a language to translate to; languages: de'],
  [{ messages: { de: 'x' } }, 'messages: de: must be an object of texts by their English message'],
  [{ messages: { de: { Full: '' } } }, 'messages: de: "Full": must be a text'],
  [{ messages: { de: { '{a} is full': '{b}' } } }, 'has {b}, which the English message does not have'],
  [{ messages: { de: { '{a}{b}': '{a}' } } }, 'two placeholders need text between them'],
  [{ messages: { de: { '{a} or {a}': '{a}' } } }, 'each placeholder needs a name of its own'],
])('the options %j are refused', (options, error) => {
  expect(getStartupError({ resources: [], ...options })).toContain(error);
});

test('an app may have languages and messages', () => {
  const messages = { de: { 'Room {number} is full': 'Raum {number} ist voll' } };
  expect(getStartupError({ resources: [], languages: ['en', 'de'], messages })).toBe('');
});
