import { EQUALITY, ORDER } from './comparisons.ts';
import type { FieldType } from './field-type.ts';
import { textKeywords } from './json-schema.ts';
import { comparableText, indexedTextBytes, shortTextSchema, TEXT_MODIFIERS, textMistakes } from './text-rules.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is refused
const UNSAFE = /[\u0000-\u0020\u007f<>"\\^`{|}]/;

function isWebUrl(text: string): boolean {
  // The URL parser drops tabs and line ends and accepts `http:/host`: what is stored must mean the same to everybody.
  if (UNSAFE.test(text) || !/^https?:\/\/[^/?#]/i.test(text)) return false;
  const url = URL.parse(text);
  return url !== null && url.username === '' && url.password === '';
}

/** `http://` and `https://` URLs without user name and password. */
export const urlType: FieldType = {
  kind: 'url',
  column: () => 'text',
  schema: (spec, context) =>
    shortTextSchema(spec, context).refine(isWebUrl, { error: 'Must be an http:// or https:// URL' }),
  // What browsers take for a URL need be no URI (RFC 3986), and is stored as it was sent.
  jsonSchema: (spec, _inner, direction) => ({
    ...textKeywords(spec),
    ...(direction === 'input' ? { format: 'uri' } : {}),
  }),
  operators: EQUALITY,
  comparisons: () => ORDER,
  modifiers: TEXT_MODIFIERS,
  mistakes: textMistakes,
  textual: true,
  indexMethod: () => 'btree',
  indexedBytes: indexedTextBytes,
  comparable: comparableText,
  fromQuery: (text) => text,
};
