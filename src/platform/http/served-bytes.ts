import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, Response } from 'express';
import { createEntityTag, parseEntityTags } from './entity-tag.ts';
import { ignoreResponseBytes } from './pending-responses.ts';

const compress = promisify(gzip);

/** Content that is the same for all clients, ready to send. */
export interface ServedContent {
  type: string;
  bytes: Buffer;
  gzipped: Buffer;
  tag: string;
  headers: Readonly<Record<string, string>>;
}

/** Prepares content to be sent often: computes its compressed form and its entity tag once. */
export async function prepareContent(
  type: string,
  bytes: Buffer,
  headers: Readonly<Record<string, string>>,
): Promise<ServedContent> {
  return { type, bytes, gzipped: await compress(bytes), tag: createEntityTag(bytes, undefined), headers };
}

/** Returns a function that caches the result of `create`, which runs at the first call. After a failure, the next call tries again. */
export function memoizeAsync<T>(create: () => T | Promise<T>): () => Promise<T> {
  let created: Promise<T> | undefined;
  return () => {
    created ??= Promise.resolve()
      .then(create)
      .catch((error) => {
        created = undefined;
        throw error;
      });
    return created;
  };
}

/** Sends prepared content, compressed if the client accepts gzip; sends a 304 if the client already has the content. */
export function sendContent(req: Request, res: Response, { type, bytes, gzipped, tag, headers }: ServedContent): void {
  ignoreResponseBytes(req);
  const zipped = req.acceptsEncodings('gzip', 'identity') === 'gzip';
  // The compressed and the plain form differ in their bytes, so their strong tags must differ too (RFC 9110 §8.8.3.3).
  const encodedTag = zipped ? `${tag}-gzip` : tag;
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
  res.setHeader('ETag', `"${encodedTag}"`);
  res.vary('Accept-Encoding');
  const known = parseEntityTags(req.headers['if-none-match'] ?? '');
  if (known === '*' || known?.some(({ opaque }) => opaque === encodedTag)) {
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
