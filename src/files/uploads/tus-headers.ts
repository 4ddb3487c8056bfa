import type { Response } from 'express';
import type { RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import type { FileRow } from '../store/store.ts';

/** The version of the protocol: https://tus.io/protocols/resumable-upload */
const VERSION = '1.0.0';
/** The facts about the server, for every response. */
const SERVER_HEADERS = {
  'Tus-Resumable': VERSION,
  'Tus-Version': VERSION,
  'Tus-Extension': 'creation,creation-with-upload,expiration,termination',
};
const MAX_METADATA_LENGTH = 4096;
/** RFC 4648 §4, with padding. */
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** The headers of the response to `OPTIONS`. @param maxBytes the largest file that any field accepts */
export function describeServer(maxBytes: number): Record<string, string> {
  return { ...SERVER_HEADERS, 'Tus-Max-Size': String(maxBytes) };
}

/** Sets the headers of every response and refuses other versions of the protocol. @throws ApiError PRECONDITION_FAILED */
export function startResponse({ req, res }: RouteContext): void {
  for (const [name, value] of Object.entries(SERVER_HEADERS)) res.setHeader(name, value);
  res.setHeader('Cache-Control', 'no-store');
  if (req.headers['tus-resumable'] !== VERSION)
    throw new ApiError('PRECONDITION_FAILED', `Send the header Tus-Resumable: ${VERSION}`);
}

/** Parses `Upload-Metadata`: pairs of a key and a base64 value, which may be missing. @throws ApiError BAD_REQUEST */
export function parseMetadata(header: string): Map<string, string> {
  const refuse = (problem: string) => new ApiError('BAD_REQUEST', `Upload-Metadata ${problem}`);
  if (header.length > MAX_METADATA_LENGTH) throw refuse(`must be at most ${MAX_METADATA_LENGTH} characters`);
  const metadata = new Map<string, string>();
  if (header.trim() === '') return metadata;
  for (const pair of header.split(',')) {
    const [key, value = '', ...more] = pair.trim().split(' ');
    if (key === '' || more.length > 0)
      throw refuse('must be pairs of a key and a base64 value, separated by commas: filename cGxhbi5wZGY=');
    if (!BASE64.test(value)) throw refuse(`has a value for "${key}" that is not base64 with padding`);
    if (metadata.has(key!)) throw refuse(`has the key "${key}" more than once`);
    metadata.set(key!, Buffer.from(value, 'base64').toString());
  }
  return metadata;
}

/** Reads a header that is a whole number. @throws ApiError BAD_REQUEST */
export function readCount({ headers }: RouteContext['req'], name: string): number {
  const text = headers[name];
  const count = typeof text === 'string' && /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(count)) throw new ApiError('BAD_REQUEST', `${name} must be a number of bytes`);
  return count;
}

/** Sets `Upload-Expires`, unless the upload does not expire. */
export function setExpiry(res: Response, { dueAt }: Pick<FileRow, 'dueAt'>): void {
  if (dueAt !== null) res.setHeader('Upload-Expires', new Date(dueAt).toUTCString());
}
