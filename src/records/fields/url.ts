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
const SCHEME_AND_AUTHORITY = /^\w+:\/\/[^/?#]*/;
// 32 times the longest host name.
const MAX_AUTHORITY_LENGTH = 8192;

function parseWebUrl(text: string): URL | undefined {
  const url = URL.parse(text);
  return url?.protocol === 'http:' || url?.protocol === 'https:' ? url : undefined;
}

/**
 * Returns what is wrong with a text as a URL. A plain URL is valid if the part before its path is valid, so only that part is parsed:
 * parsing a long URL costs ten times as much as parsing its JSON.
 */
function urlError(text: string): string | undefined {
  const isPlain = PLAIN.test(text);
  const partToParse = isPlain ? SCHEME_AND_AUTHORITY.exec(text)![0] : text;
  if (isPlain && partToParse.length > MAX_AUTHORITY_LENGTH) {
    return `Must have at most ${MAX_AUTHORITY_LENGTH} characters before its path`;
  }
  return parseWebUrl(partToParse) === undefined ? 'Must be an http:// or https:// URL' : undefined;
}

/**
 * A URL as it is stored: as it was sent, trimmed. Forms that only the URL parser understands (`https:/host`, a backslash for
 * a slash, tabs, line ends) are stored as the parser writes them, so that every reader sees the same host.
 */
function normalizeUrl(text: string, spec: FieldSpec): string {
  const normalized = normalize(text, spec);
  const isTooLong = spec.max !== undefined && longerThan(normalized, Number(spec.max.value));
  if (isTooLong || PLAIN.test(normalized) || !isStorable(normalized)) return normalized;
  const url = parseWebUrl(normalized);
  return url === undefined ? normalized : normalize(url.href, spec);
}

/** Every `http://` and `https://` URL that the WHATWG parser accepts (https://url.spec.whatwg.org/#concept-basic-url-parser). */
export const urlType: FieldType = {
  kind: 'url',
  column: () => 'text',
  schema: (spec, context) =>
    shortTextSchema(spec, context, normalizeUrl).superRefine((text, issues) => {
      const message = urlError(text);
      if (message !== undefined) issues.addIssue({ code: 'custom', message, input: text });
    }),
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
