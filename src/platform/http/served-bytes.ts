import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import { entityTag, readEntityTags } from './entity-tag.ts';
import { ignoreResponseBytes } from './pending-responses.ts';

const compress = promisify(gzip);

/** Bytes that everybody gets alike, ready to be sent. */
export interface ServedBytes {
  type: string;
  bytes: Buffer;
  gzipped: Buffer;
  tag: string;
  headers: Readonly<Record<string, string>>;
}

/** Makes bytes ready: their compressed form and their entity tag. */
export async function servedBytes(
  type: string,
  bytes: Buffer,
  headers: Readonly<Record<string, string>>,
): Promise<ServedBytes> {
  return { type, bytes, gzipped: await compress(bytes), tag: entityTag(bytes, undefined), headers };
}

/** Remembers what `make` gave once it is asked for; what failed is tried again by the next who asks. */
export function onDemand<T>(make: () => T | Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= Promise.resolve()
      .then(make)
      .catch((error) => {
        made = undefined;
        throw error;
      });
    return made;
  };
}

/** Sends bytes, compressed where the client takes that; 304 to who has them already. */
export function sendBytes(req: Request, res: Response, { type, bytes, gzipped, tag, headers }: ServedBytes): void {
  ignoreResponseBytes(req);
  const zipped = req.acceptsEncodings('gzip', 'identity') === 'gzip';
  // The two forms are not the same bytes, so their strong tags differ (RFC 9110 §8.8.3.3).
  const own = zipped ? `${tag}-gzip` : tag;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.setHeader('ETag', `"${own}"`);
  res.vary('Accept-Encoding');
  const known = readEntityTags(req.headers['if-none-match'] ?? '');
  if (known === '*' || known?.some(({ opaque }) => opaque === own)) {
    res.statusCode = 304;
    res.end();
    return;
  }
  const body = zipped ? gzipped : bytes;
  if (zipped) res.setHeader('Content-Encoding', 'gzip');
  res.setHeader('Content-Type', type);
  res.setHeader('Content-Length', body.length);
  res.end(req.method === 'HEAD' ? undefined : body);
}
