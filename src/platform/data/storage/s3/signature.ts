import { createHash, createHmac } from 'node:crypto';
import type { S3Credentials } from './settings.ts';

/** The payload hash of a request whose body is not part of its signature. */
export const UNSIGNED_PAYLOAD = 'UNSIGNED-PAYLOAD';

const ALGORITHM = 'AWS4-HMAC-SHA256';

/** A request to sign. */
interface UnsignedRequest {
  method: string;
  url: URL;
  /** By name in lower case. All of them are signed. */
  headers: Readonly<Record<string, string>>;
  credentials: S3Credentials;
  region: string;
  now: Date;
}

/** Returns the SHA-256 of a body in hexadecimal. */
export function sha256Hex(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/** Encodes as AWS requires: everything except letters, digits and `-._~`. `encodeURIComponent` leaves more. */
function encode(text: string): string {
  return encodeURIComponent(text).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

/** `20130524T000000Z` */
function toTimestamp(now: Date): string {
  return now.toISOString().replaceAll(/[-:]|\.\d+/g, '');
}

function canonicalQuery(parameters: URLSearchParams): string {
  return Array.from(parameters, ([name, value]) => `${encode(name)}=${encode(value)}`)
    .sort()
    .join('&');
}

const canonicalPath = (url: URL) =>
  url.pathname
    .split('/')
    .map((segment) => encode(decodeURIComponent(segment)))
    .join('/');

function sign(
  { method, url, credentials, region, now }: UnsignedRequest,
  headers: [string, string][],
  payloadHash: string,
): string {
  const timestamp = toTimestamp(now);
  const day = timestamp.slice(0, 8);
  const request = [
    method,
    canonicalPath(url),
    canonicalQuery(url.searchParams),
    ...headers.map(([name, value]) => `${name}:${value.trim().replaceAll(/ +/g, ' ')}`),
    '',
    headers.map(([name]) => name).join(';'),
    payloadHash,
  ].join('\n');
  const text = [ALGORITHM, timestamp, `${day}/${region}/s3/aws4_request`, sha256Hex(request)].join('\n');
  const key = [region, 's3', 'aws4_request'].reduce(hmac, hmac(`AWS4${credentials.secretAccessKey}`, day));
  return hmac(key, text).toString('hex');
}

const sortHeaders = (headers: Record<string, string>) =>
  Object.entries(headers).sort(([first], [second]) => (first < second ? -1 : 1));

const scopeOf = ({ credentials, region, now }: UnsignedRequest) =>
  `${credentials.accessKeyId}/${toTimestamp(now).slice(0, 8)}/${region}/s3/aws4_request`;

/**
 * Signs a request with AWS Signature Version 4 in its headers.
 *
 * @param payloadHash `sha256Hex` of the body, or `UNSIGNED_PAYLOAD`
 * @returns all headers of the signed request
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html
 */
export function signHeaders(request: UnsignedRequest, payloadHash: string): Record<string, string> {
  const { sessionToken } = request.credentials;
  const signed: Record<string, string> = {
    ...request.headers,
    host: request.url.host,
    'x-amz-content-sha256': payloadHash,
    'x-amz-date': toTimestamp(request.now),
    ...(sessionToken === undefined ? {} : { 'x-amz-security-token': sessionToken }),
  };
  const headers = sortHeaders(signed);
  const signature = sign(request, headers, payloadHash);
  const names = headers.map(([name]) => name).join(';');
  signed.authorization = `${ALGORITHM} Credential=${scopeOf(request)},SignedHeaders=${names},Signature=${signature}`;
  return signed;
}

/**
 * Signs a request with AWS Signature Version 4 in its URL. The client that uses the URL must send exactly the headers that were signed.
 *
 * @param expiresInSeconds 1 to 604,800
 * @see https://docs.aws.amazon.com/AmazonS3/latest/API/sigv4-query-string-auth.html
 */
export function signUrl(request: UnsignedRequest, expiresInSeconds: number): string {
  const headers = sortHeaders({ ...request.headers, host: request.url.host });
  const url = new URL(request.url);
  const { sessionToken } = request.credentials;
  const parameters = {
    'X-Amz-Algorithm': ALGORITHM,
    'X-Amz-Credential': scopeOf(request),
    'X-Amz-Date': toTimestamp(request.now),
    'X-Amz-Expires': String(expiresInSeconds),
    'X-Amz-SignedHeaders': headers.map(([name]) => name).join(';'),
    ...(sessionToken === undefined ? {} : { 'X-Amz-Security-Token': sessionToken }),
  };
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
  const signature = sign({ ...request, url }, headers, UNSIGNED_PAYLOAD);
  return `${url.origin}${url.pathname}?${canonicalQuery(url.searchParams)}&X-Amz-Signature=${signature}`;
}
