import type { FieldSpec } from '../../declare/field.ts';
import { isStorable } from '../../platform/postgres/storable.ts';
import { EQUALITY, ORDER } from './comparisons.ts';
import type { FieldType } from './field-type.ts';
import { textKeywords } from './json-schema.ts';
import {
  comparableText,
  indexedTextBytes,
  normalize,
  shortTextSchema,
  TEXT_MODIFIERS,
  textMistakes,
} from './text-rules.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what the URL parser drops or escapes
const PLAIN = /^https?:\/\/[^\u0000-\u001f\u007f\\/?#][^\u0000-\u001f\u007f\\]*$/i;

function isWebUrl(text: string): boolean {
  const protocol = URL.parse(text)?.protocol;
  return protocol === 'http:' || protocol === 'https:';
}

/**
 * A URL as it is stored: as it was sent, trimmed. Forms that only the URL parser understands (`https:/host`, a backslash for
 * a slash, tabs, line ends) are stored as the parser writes them, so that every reader sees the same host.
 */
function normalizeUrl(text: string, spec: FieldSpec): string {
  const normalized = normalize(text, spec);
  if (PLAIN.test(normalized) || !isStorable(normalized) || !isWebUrl(normalized)) return normalized;
  return normalize(URL.parse(normalized)!.href, spec);
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
