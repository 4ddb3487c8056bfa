import type { FieldSpec } from '../../declare/field.ts';
import { isStorable } from '../../platform/postgres/storable.ts';
import { EQUALITY, ORDER } from './comparisons.ts';
import type { FieldType } from './field-type.ts';
import { textKeywords } from './json-schema.ts';
import {
  comparableText,
  indexedTextBytes,
  longerThan,
  normalize,
  shortTextSchema,
  TEXT_MODIFIERS,
  textMistakes,
} from './text-rules.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what the URL parser drops or escapes
const PLAIN = /^https?:\/\/[^\u0000-\u001f\u007f\\/?#][^\u0000-\u001f\u007f\\]*$/i;
/** Scheme, user name and password, host and port of a plain URL. */
const ORIGIN = /^\w+:\/\/[^/?#]*/;
// 32 times the longest host name.
const MOST_ORIGIN = 8192;

/**
 * Whether the WHATWG parser accepts a text as an `http://` or `https://` URL. Of a plain URL only the part before the path is parsed:
 * no path, query or fragment makes one invalid, and parsing a long one costs ten times as much as parsing its JSON.
 */
function isWebUrl(text: string): boolean {
  const isPlain = PLAIN.test(text);
  const decisive = isPlain ? ORIGIN.exec(text)![0] : text;
  if (isPlain && decisive.length > MOST_ORIGIN) return false;
  const protocol = URL.parse(decisive)?.protocol;
  return protocol === 'http:' || protocol === 'https:';
}

/**
 * A URL as it is stored: as it was sent, trimmed. Forms that only the URL parser understands (`https:/host`, a backslash for
 * a slash, tabs, line ends) are stored as the parser writes them, so that every reader sees the same host.
 */
function normalizeUrl(text: string, spec: FieldSpec): string {
  const normalized = normalize(text, spec);
  const isTooLong = spec.max !== undefined && longerThan(normalized, Number(spec.max.value));
  if (isTooLong || PLAIN.test(normalized) || !isStorable(normalized)) return normalized;
  const url = URL.parse(normalized);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? normalize(url.href, spec) : normalized;
}

/** Every `http://` and `https://` URL that the WHATWG parser accepts (https://url.spec.whatwg.org/#concept-basic-url-parser). */
export const urlType: FieldType = {
  kind: 'url',
  column: () => 'text',
  schema: (spec, context) =>
    shortTextSchema(spec, context, normalizeUrl).refine(isWebUrl, { error: 'Must be an http:// or https:// URL' }),
  // A URL of the WHATWG parser need be no URI (RFC 3986), and is stored as it was sent.
  jsonSchema: (spec, _inner, direction) => ({
    ...textKeywords(spec, direction),
    ...(direction === 'input' ? { format: 'uri' } : {}),
  }),
  operators: EQUALITY,
  comparisons: () => ORDER,
  modifiers: [...TEXT_MODIFIERS, 'lowercase', 'uppercase'],
  mistakes: textMistakes,
  textual: true,
  indexMethod: () => 'btree',
  indexedBytes: indexedTextBytes,
  comparable: comparableText,
  fromQuery: normalizeUrl,
};
