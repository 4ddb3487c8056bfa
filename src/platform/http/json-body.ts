import type { IncomingMessage } from 'node:http';
import { pipeline, type Readable } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate } from 'node:zlib';
import { ApiError, validationError } from '../helpers/errors.ts';
import { findExceededJsonLimit } from '../helpers/json/json-limits.ts';

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json(?![^; \t])/i;
// Matches one semicolon of a Content-Type with the parameter after it, if any, or the end of the text. So matching takes linear time.
const PARAMETER = /[ \t]*(?:;[ \t]*(?:([\w!#$%&'*+.^`|~-]+)[ \t]*=[ \t]*([\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*"))?|$)/y;

// Many clients leave the hyphen out, as the Encoding Standard allows.
const UTF_8 = /^(?:utf-?8|"utf-?8")$/i;

const DECOMPRESSORS = {
  gzip: createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
} as const;

function decompressBody(req: IncomingMessage): Readable {
  const encoding = (req.headers['content-encoding'] ?? 'identity').toLowerCase();
  if (encoding === 'identity') return req;
  if (!Object.hasOwn(DECOMPRESSORS, encoding)) {
    throw new ApiError('UNSUPPORTED_MEDIA_TYPE', 'The content encoding must be gzip, deflate, br or identity');
  }
  // Ignore the error here: it also occurs on the last stream, which the caller reads.
  return pipeline(req, DECOMPRESSORS[encoding as keyof typeof DECOMPRESSORS](), () => undefined) as unknown as Readable;
}

/** Reads the body of a request, up to `limit` bytes. The rest is not read: the connection is closed after the response. */
function readBodyBytes(req: IncomingMessage, limit: number): Promise<Buffer> {
  const stream = decompressBody(req);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let size = 0;
    stream.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size > limit) {
        stream.pause();
        stream.removeAllListeners('data');
        req.unpipe();
        reject(new ApiError('PAYLOAD_TOO_LARGE', `The body must be at most ${limit} bytes`));
      } else chunks.push(chunk);
    });
    stream.once('end', () => resolve(chunks.length === 1 ? chunks[0]! : Buffer.concat(chunks, size)));
    stream.once('error', (error) =>
      reject(new ApiError('BAD_REQUEST', 'The body could not be read', { cause: error })),
    );
    req.once('aborted', () => reject(new ApiError('BAD_REQUEST', 'The body was cut off')));
  });
}

// `fatal`, because invalid UTF-8 would otherwise silently become U+FFFD.
const decoder = new TextDecoder('utf-8', { fatal: true });

function parseJsonBytes(bytes: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(bytes));
  } catch (error) {
    throw new ApiError('INVALID_JSON', undefined, { cause: error });
  }
}

/** Whether a request declares a body (RFC 9112 §6). */
export function hasBody(req: IncomingMessage): boolean {
  const length = req.headers['content-length'];
  return req.headers['transfer-encoding'] !== undefined || (length !== undefined && length !== '0');
}

/** Whether a content type is JSON in UTF-8, regardless of other parameters (RFC 9110 §8.3.1; RFC 8259 §11 defines none). */
function isJsonType(text: string): boolean {
  const type = JSON_TYPE.exec(text)?.[0];
  if (type === undefined) return false;
  for (let at = type.length; at < text.length; at = PARAMETER.lastIndex) {
    PARAMETER.lastIndex = at;
    const found = PARAMETER.exec(text);
    if (found === null) return false;
    const [, name, value] = found;
    if (name?.toLowerCase() === 'charset' && !UTF_8.test(value!)) return false;
  }
  return true;
}

/** Whether a request declares its body as JSON, in any encoding. */
export function declaresJsonBody(req: IncomingMessage): boolean {
  return hasBody(req) && JSON_TYPE.test(req.headers['content-type'] ?? '');
}

/**
 * Reads a request's JSON body.
 *
 * @param bounds `bodyLimit`: bytes, counted after decompression; `bodyKeys`: maximum fields of one object; `countsRoot`: false if the
 *   fields of the body itself are counted later, during validation
 * @returns the parsed value; undefined if there is no body
 * @throws ApiError UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, INVALID_JSON, or VALIDATION_ERROR for a body that is too deep or too large
 */
export async function readJsonBody(
  req: IncomingMessage,
  { bodyLimit: limit, bodyKeys, countsRoot }: { bodyLimit: number; bodyKeys: number; countsRoot: boolean },
): Promise<unknown> {
  if (!hasBody(req)) return undefined;
  if (!isJsonType(req.headers['content-type'] ?? '')) throw new ApiError('UNSUPPORTED_MEDIA_TYPE');
  if (Number(req.headers['content-length']) > limit)
    throw new ApiError('PAYLOAD_TOO_LARGE', `The body must be at most ${limit} bytes`);
  const bytes = await readBodyBytes(req, limit);
  if (bytes.length === 0) return undefined;
  const value = parseJsonBytes(bytes);
  const excess = findExceededJsonLimit(bytes, bodyKeys, countsRoot ? bodyKeys : Number.POSITIVE_INFINITY);
  if (excess !== undefined) throw validationError({ body: excess });
  return value;
}
