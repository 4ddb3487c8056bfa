import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { ApiError } from '../../helpers/errors.ts';
import { hasBody } from '../json-body.ts';
import { allowLongBody } from '../request-deadlines.ts';

/** The media type of a header in lower case, without parameters; an empty text if it is malformed. */
export function mediaTypeOf(header: string | undefined): string {
  const type = (header ?? '').split(';', 1)[0]!.trim().toLowerCase();
  return /^[a-z0-9!#$&^_.+-]+\/[a-z0-9!#$&^_.+-]+$/.test(type) ? type : '';
}

/** Whether a media type matches one of the patterns: `image/png`, `image/*` or `*` + `/*`. */
export function matchesMediaType(type: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern === '*/*' ? true : pattern.endsWith('/*') ? type.startsWith(pattern.slice(0, -1)) : pattern === type,
  );
}

/** The error for a body or part of a type that is not accepted. */
export function unsupportedTypeError(types: readonly string[], part?: string): ApiError {
  const what = part === undefined ? 'The Content-Type' : `The Content-Type of the part "${part}"`;
  return new ApiError('UNSUPPORTED_MEDIA_TYPE', `${what} must be ${types.join(' or ')}`);
}

/** The error for a body or part that is too large. */
export function tooLargeError(maxBytes: number, part?: string): ApiError {
  const what = part === undefined ? 'The body' : `The part "${part}"`;
  return new ApiError('PAYLOAD_TOO_LARGE', `${what} must be at most ${maxBytes} bytes`);
}

/** Yields the chunks of a request. The request is not destroyed if the consumer stops early, so that an error response can be sent. */
async function* readChunks(req: IncomingMessage, maxBytes: number): AsyncGenerator<Buffer> {
  let bytes = 0;
  try {
    for await (const chunk of req.iterator({ destroyOnReturn: false })) {
      bytes += (chunk as Buffer).length;
      if (bytes > maxBytes) throw tooLargeError(maxBytes);
      yield chunk as Buffer;
    }
  } catch (error) {
    if (error instanceof ApiError || (error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
    throw new ApiError('BAD_REQUEST', 'The body was cut off', { cause: error });
  }
}

/**
 * Opens the body of a request as a stream of bytes that fails beyond `maxBytes`, and when the client disconnects. The body may take longer
 * than other requests, as long as bytes keep arriving.
 *
 * @returns undefined if the request has no body
 * @throws ApiError UNSUPPORTED_MEDIA_TYPE for an encoded body; PAYLOAD_TOO_LARGE if `Content-Length` exceeds `maxBytes`
 */
export function openBody(req: IncomingMessage, maxBytes: number): AsyncIterable<Buffer> | undefined {
  if (!hasBody(req)) return undefined;
  const encoding = (req.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (encoding !== 'identity')
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'This body must not have a Content-Encoding');
  if (Number(req.headers['content-length']) > maxBytes) throw tooLargeError(maxBytes);
  allowLongBody(req);
  return readChunks(req, maxBytes);
}

/**
 * Opens the body of a route that takes bytes.
 *
 * @throws ApiError UNSUPPORTED_MEDIA_TYPE or PAYLOAD_TOO_LARGE
 */
export function openBinaryBody(
  req: IncomingMessage,
  { types = ['*/*'], maxBytes }: { types?: readonly string[]; maxBytes: number },
): Readable {
  if (hasBody(req) && !matchesMediaType(mediaTypeOf(req.headers['content-type']), types))
    throw unsupportedTypeError(types);
  return Readable.from(openBody(req, maxBytes) ?? [], { objectMode: false });
}
