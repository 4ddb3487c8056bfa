import type { EncryptedColumn, Keyring } from '../../../extension/index.ts';

/** The custom headers of an endpoint: names as the owner wrote them, with their values, or with masked values. */
export type HeaderList = readonly (readonly [name: string, value: string])[];

export const MAX_HEADERS = 10;
/** Maximum characters of a name. */
const MAX_NAME_LENGTH = 64;
/** Maximum characters of a value. */
const MAX_VALUE_LENGTH = 1024;
/** Maximum characters of all names and values together. */
const MAX_TOTAL_LENGTH = 4096;

/** A token of RFC 9110. */
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Visible ASCII, with spaces and tabs inside. */
const VALUE = /^[\t\x20-\x7e]*$/;

/**
 * Names that an endpoint cannot have: what Belfry or its HTTP client sends, hop-by-hop headers, and headers with which a request could do more
 * than deliver a message. Receivers trust some of these only because they come from a proxy or the metadata client of a cloud.
 */
const RESERVED = new Set([
  ...['host', 'user-agent', 'accept-encoding', 'traceparent', 'tracestate', 'expect', 'cookie', 'set-cookie'],
  ...['connection', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'http2-settings'],
  ...['forwarded', 'x-real-ip', 'x-http-method', 'x-http-method-override', 'x-method-override'],
  ...['metadata', 'metadata-flavor', 'x-google-metadata-request'],
  // In JavaScript, a receiver could not read it like another header.
  '__proto__',
]);
const RESERVED_PREFIXES = ['webhook-', 'content-', 'proxy-', 'x-forwarded-', 'x-aws-ec2-metadata-'];

const isReserved = (name: string) => RESERVED.has(name) || RESERVED_PREFIXES.some((prefix) => name.startsWith(prefix));

/** Returns why an endpoint cannot have a header of this name; undefined if it can. */
export function findNameError(name: string): string | undefined {
  if (!NAME.test(name)) return "Must have a name of letters, digits and the characters !#$%&'*+-.^_`|~";
  if (name.length > MAX_NAME_LENGTH) return `Must have a name of at most ${MAX_NAME_LENGTH} characters`;
  return isReserved(name.toLowerCase())
    ? 'Is reserved for the sender of webhooks, for proxies or for HTTP itself; choose another name'
    : undefined;
}

/** Returns why a header cannot have this value; undefined if it can. */
export function findValueError(value: unknown): string | undefined {
  if (typeof value !== 'string') return 'Must be a string';
  if (!VALUE.test(value)) return 'Must contain only visible ASCII characters, spaces and tabs';
  const { length } = value.trim();
  if (length === 0) return 'Must not be empty';
  return length > MAX_VALUE_LENGTH ? `Must be at most ${MAX_VALUE_LENGTH} characters` : undefined;
}

/** Returns why an endpoint cannot have all of these headers; undefined if it can. */
export function findListError(headers: HeaderList): string | undefined {
  if (headers.length > MAX_HEADERS) return `Must be at most ${MAX_HEADERS} headers`;
  const total = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0);
  return total > MAX_TOTAL_LENGTH
    ? `Must be at most ${MAX_TOTAL_LENGTH} characters in all names and values`
    : undefined;
}

const DOTS = '••••';
/** The end of a value is shown only if this many characters or more belong together, so that what stays hidden cannot be guessed. */
const MIN_SHOWN_LENGTH = 16;

/** Returns the part of a value after its last space: of `Bearer <token>`, the token. */
const lastWordOf = (value: string): string =>
  value.slice(Math.max(value.lastIndexOf(' '), value.lastIndexOf('\t')) + 1);

/** Masks the value of a header. The last four characters of a long key help people to recognize it; those of a password are not shown. */
function maskValue(value: string): string {
  const isShown = lastWordOf(value).length >= MIN_SHOWN_LENGTH && !/^basic\s/i.test(value);
  return isShown ? `${DOTS}${value.slice(-4)}` : DOTS;
}

/** Returns the headers with masked values, as responses and pages show them. */
export const maskHeaders = (headers: HeaderList): HeaderList =>
  headers.map(([name, value]) => [name, maskValue(value)]);

/** Texts that are shorter occur in responses by chance. */
const MIN_HIDDEN_LENGTH = 8;

/** Hides a text where it occurs in a response, also if the end of the response cuts it off. */
function hideText(response: string, secret: string): string {
  if (secret.length < MIN_HIDDEN_LENGTH) return response;
  const shown = response.replaceAll(secret, DOTS);
  const start = secret.slice(0, MIN_HIDDEN_LENGTH);
  const earliest = Math.max(0, shown.length - secret.length);
  for (let at = shown.indexOf(start, earliest); at !== -1; at = shown.indexOf(start, at + 1))
    if (secret.startsWith(shown.slice(at))) return `${shown.slice(0, at)}${DOTS}`;
  return shown;
}

/**
 * Hides the values of headers in the response of a receiver that repeats its request, because the log of deliveries shows responses. A
 * receiver may also repeat a token without its scheme.
 */
export function hideHeaderValues(response: string, headers: HeaderList): string {
  const secrets = headers.flatMap(([, value]) => [value, lastWordOf(value), ...decodeBasic(value)]);
  const forms = secrets.flatMap((secret) => [secret, JSON.stringify(secret).slice(1, -1), encodeURIComponent(secret)]);
  return [...new Set(forms)].reduce(hideText, response);
}

/** Returns the user name and password of Basic authentication, and the password alone. */
function decodeBasic(value: string): string[] {
  if (!/^basic\s/i.test(value)) return [];
  const pair = Buffer.from(lastWordOf(value), 'base64').toString('utf8');
  return [pair, pair.slice(pair.indexOf(':') + 1)];
}

const encryptionContext = (endpointId: string) => `webhook_endpoints/headers/${endpointId}`;

/** The column of the custom headers of endpoints. */
export const encryptedHeaders: EncryptedColumn = {
  name: 'webhook_endpoints.headers',
  table: 'webhook_endpoints',
  column: 'headers',
  context: encryptionContext,
};

/** Encrypts headers for their column. */
export function encryptHeaders(keyring: Keyring, endpointId: string, headers: HeaderList): string {
  return keyring.encrypt(JSON.stringify(headers), encryptionContext(endpointId));
}

/**
 * Decrypts the stored headers of an endpoint.
 *
 * @throws DecryptionError if the encryption key is missing
 */
export function decryptHeaders(keyring: Keyring, endpointId: string, stored: string): HeaderList {
  return JSON.parse(keyring.decrypt(stored, encryptionContext(endpointId))) as HeaderList;
}
