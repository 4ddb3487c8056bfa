import { Field, type FieldSpec } from '../../../declare/field.ts';
import { isStorable } from '../../../platform/data/postgres/values.ts';
import { parseUrl } from '../../../platform/http/parse-url.ts';
import { TEXT } from '../column-type.ts';
import { COUNTED_VALUES, EQUALITY_COMPARISONS, type FieldType, ORDER_COMPARISONS } from '../field-type.ts';
import { textJsonSchema } from '../json-schema.ts';
import {
  isLongerThan,
  maxTextBytesByModifiers,
  normalizeText,
  shortTextSchema,
  TEXT_MODIFIERS,
  textBoundErrors,
  toComparableText,
} from '../text-rules.ts';

// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what the URL parser drops or escapes
const PLAIN = /^https?:\/\/[^\u0000-\u001f\u007f\\/?#][^\u0000-\u001f\u007f\\]*$/i;
const SCHEME_AND_AUTHORITY = /^\w+:\/\/[^/?#]*/;

// RFC 1035 §2.3.4. The parser accepts empty labels and labels of any length. Only the last dot may follow the last label.
const EMPTY_OR_LONG_LABEL = /^\.|\.\.|[^.]{64}/;
const MAX_HOST_LENGTH = 253;

/** Whether a host of a parsed URL can exist in the DNS: labels of 1 to 63 characters, 253 together. */
function canExist(hostname: string): boolean {
  return !EMPTY_OR_LONG_LABEL.test(hostname) && hostname.replace(/\.$/, '').length <= MAX_HOST_LENGTH;
}

function parseWebUrl(text: string): URL | undefined {
  const url = parseUrl(text);
  const isWeb = url?.protocol === 'http:' || url?.protocol === 'https:';
  return isWeb && canExist(url.hostname) ? url : undefined;
}

/**
 * Whether a text is an http or https URL. Only the part of a plain URL before its path is parsed, because the rest is always valid:
 * parsing a long URL costs ten times as much as parsing its JSON.
 */
function isWebUrl(text: string): boolean {
  const start = PLAIN.test(text) ? SCHEME_AND_AUTHORITY.exec(text)![0] : text;
  // Append the slash, because the parser ignores white space at the end of a text, but not at the end of a host.
  return parseWebUrl(start === text ? text : `${start}/`) !== undefined;
}

/**
 * A URL in its stored form: as it was sent, trimmed. Forms that only the URL parser understands (`https:/host`, a backslash for a slash,
 * tabs, line ends) are stored as the parser writes them: every reader then sees the same host.
 */
function normalizeUrl(text: string, spec: FieldSpec): string {
  const normalized = normalizeText(text, spec);
  const isTooLong = spec.max !== undefined && isLongerThan(normalized, Number(spec.max.value));
  if (isTooLong || PLAIN.test(normalized) || !isStorable(normalized)) return normalized;
  const url = parseWebUrl(normalized);
  return url === undefined ? normalized : normalizeText(url.href, spec);
}

/**
 * `http://` and `https://` URLs that the WHATWG parser accepts (https://url.spec.whatwg.org/#concept-basic-url-parser), within the
 * limits of `parseUrl`, with a host that can exist.
 */
export const urlType = {
  kind: 'url',
  field: (): Field<string> => new Field({ type: urlType, trim: true }),
  column: TEXT,
  schema: (spec, context) =>
    shortTextSchema(spec, context, normalizeUrl).refine(isWebUrl, { error: 'Must be an http:// or https:// URL' }),
  // A URL that the WHATWG parser accepts may not be a URI (RFC 3986), and is stored as it was sent.
  jsonSchema: (spec, _inner, direction) => ({
    ...textJsonSchema(spec, direction),
    ...(direction === 'input' ? { format: 'uri' } : {}),
  }),
  jsonType: 'string',
  plainText: true,
  freeText: true,
  operators: EQUALITY_COMPARISONS,
  comparisons: () => ORDER_COMPARISONS,
  modifiers: [...TEXT_MODIFIERS, 'lowercase', 'uppercase'],
  aggregations: COUNTED_VALUES,
  errors: textBoundErrors,
  textual: true,
  indexMethod: () => 'btree',
  indexedBytes: maxTextBytesByModifiers,
  comparable: toComparableText,
  fromQuery: normalizeUrl,
} satisfies FieldType;
