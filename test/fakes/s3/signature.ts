import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** A request as it arrived. */
export interface ReceivedRequest {
  method: string;
  /** Path and query, exactly as sent. */
  target: string;
  /** By name in lower case. */
  headers: Readonly<Record<string, string | string[] | undefined>>;
}

/** The key pair and the region that the server accepts. */
export interface AcceptedKey {
  accessKeyId: string;
  secretAccessKey: string;
  region: string;
}

/** Why a request is refused: status and code of S3. */
export interface Refusal {
  status: number;
  code: string;
}

const refusal = (code: string, status = 403): Refusal => ({ status, code });

const MAX_SKEW_MS = 15 * 60_000;

function parseTimestamp(text: string): number {
  const [, year, month, day, hour, minute, second] = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
  return Date.parse(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
}

/** Encodes a decoded text as the documentation of S3 defines `UriEncode`, byte by byte. */
function uriEncode(text: string, keepSlash: boolean): string {
  let encoded = '';
  for (const byte of Buffer.from(text, 'utf8')) {
    const character = String.fromCharCode(byte);
    const isKept = /[A-Za-z0-9\-._~]/.test(character) || (keepSlash && character === '/');
    encoded += isKept ? character : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return encoded;
}

const decodeQuery = (text: string) => decodeURIComponent(text.replaceAll('+', ' '));

/** The parameters of a target, decoded, in the order in which they were sent. */
export function parametersOf(target: string): [string, string][] {
  const query = target.split('?')[1] ?? '';
  return query
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const [name, value = ''] = pair.split('=') as [string, string?];
      return [decodeQuery(name), decodeQuery(value)];
    });
}

function expectedSignature(
  { method, target, headers }: ReceivedRequest,
  parts: { key: AcceptedKey; timestamp: string; day: string; names: string[]; payloadHash: string },
): string {
  const { key, timestamp, day, names, payloadHash } = parts;
  const query = parametersOf(target)
    .filter(([name]) => name !== 'X-Amz-Signature')
    .map(([name, value]) => `${uriEncode(name, false)}=${uriEncode(value, false)}`)
    .sort();
  const canonicalHeaders = names.map((name) => `${name}:${String(headers[name] ?? '').trim()}\n`).join('');
  const path = uriEncode(decodeURIComponent(target.split('?')[0]!), true);
  const canonical = [method, path, query.join('&'), canonicalHeaders, names.join(';'), payloadHash].join('\n');
  const scope = `${day}/${key.region}/s3/aws4_request`;
  const digest = createHash('sha256').update(canonical).digest('hex');
  let signingKey: Buffer = Buffer.from(`AWS4${key.secretAccessKey}`);
  for (const part of [day, key.region, 's3', 'aws4_request']) {
    signingKey = createHmac('sha256', signingKey).update(part).digest();
  }
  return createHmac('sha256', signingKey).update(`AWS4-HMAC-SHA256\n${timestamp}\n${scope}\n${digest}`).digest('hex');
}

const isEqual = (first: string, second: string) =>
  first.length === second.length && timingSafeEqual(Buffer.from(first), Buffer.from(second));

function checkCredential(credential: string, timestamp: string, key: AcceptedKey): Refusal | undefined {
  const [id, day, region, service, end] = credential.split('/');
  if (id !== key.accessKeyId) return refusal('InvalidAccessKeyId');
  if (region !== key.region) return refusal('AuthorizationHeaderMalformed', 400);
  if (service !== 's3' || end !== 'aws4_request' || day !== timestamp.slice(0, 8)) return refusal('AccessDenied');
  return undefined;
}

function verifyUrl(request: ReceivedRequest, key: AcceptedKey, nowMs: number): Refusal | undefined {
  const query = Object.fromEntries(parametersOf(request.target));
  const { 'X-Amz-Date': timestamp = '', 'X-Amz-SignedHeaders': signed = '' } = query;
  const wrong = checkCredential(query['X-Amz-Credential'] ?? '', timestamp, key);
  if (wrong) return wrong;
  const seconds = Number(query['X-Amz-Expires']);
  if (!Number.isInteger(seconds) || seconds < 1 || seconds > 604_800) {
    return refusal('AuthorizationQueryParametersError', 400);
  }
  if (nowMs > parseTimestamp(timestamp) + seconds * 1000) return refusal('AccessDenied');
  const names = signed.split(';');
  // As S3 does: every header of Amazon that the client sends must be signed.
  const isUnsigned = (name: string) => name.startsWith('x-amz-') && !names.includes(name);
  if (!names.includes('host') || Object.keys(request.headers).some(isUnsigned)) return refusal('AccessDenied');
  const parts = { key, timestamp, day: timestamp.slice(0, 8), names, payloadHash: 'UNSIGNED-PAYLOAD' };
  const isValid = isEqual(expectedSignature(request, parts), query['X-Amz-Signature'] ?? '');
  return isValid ? undefined : refusal('SignatureDoesNotMatch');
}

function verifyHeaders(request: ReceivedRequest, body: Buffer, key: AcceptedKey, nowMs: number): Refusal | undefined {
  const header =
    /^AWS4-HMAC-SHA256 Credential=([^,]+), ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})$/.exec(
      String(request.headers.authorization ?? ''),
    ) ?? undefined;
  if (!header) return refusal('AccessDenied');
  const [, credential, signed, signature] = header as unknown as [string, string, string, string];
  const timestamp = String(request.headers['x-amz-date'] ?? '');
  const wrong = checkCredential(credential, timestamp, key);
  if (wrong) return wrong;
  if (!(Math.abs(parseTimestamp(timestamp) - nowMs) <= MAX_SKEW_MS)) return refusal('RequestTimeTooSkewed');
  const names = signed.split(';');
  const mustBeSigned = (name: string) => name === 'host' || name.startsWith('x-amz-');
  if (Object.keys(request.headers).some((name) => mustBeSigned(name) && !names.includes(name))) {
    return refusal('AccessDenied');
  }
  const payloadHash = String(request.headers['x-amz-content-sha256'] ?? '');
  const parts = { key, timestamp, day: timestamp.slice(0, 8), names, payloadHash };
  if (!isEqual(expectedSignature(request, parts), signature)) return refusal('SignatureDoesNotMatch');
  if (payloadHash === 'UNSIGNED-PAYLOAD') return undefined;
  const actual = createHash('sha256').update(body).digest('hex');
  return isEqual(actual, payloadHash) ? undefined : refusal('XAmzContentSHA256Mismatch', 400);
}

/** Verifies AWS Signature Version 4, in the headers or in the URL. Returns undefined if it is valid. */
export function verifySignature(
  request: ReceivedRequest,
  body: Buffer,
  key: AcceptedKey,
  nowMs = Date.now(),
): Refusal | undefined {
  const isPresigned = parametersOf(request.target).some(([name]) => name === 'X-Amz-Signature');
  return isPresigned ? verifyUrl(request, key, nowMs) : verifyHeaders(request, body, key, nowMs);
}
