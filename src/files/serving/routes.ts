import { pipeline } from 'node:stream/promises';
import type { Response } from 'express';
import type { Route, RouteContext } from '../../declare/route.ts';
import { isTextType } from '../../platform/data/storage/media-types/names.ts';
import { type FileStorage, StorageError } from '../../platform/data/storage/storage.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { formatContentDisposition } from '../../platform/http/bodies/content-disposition.ts';
import { parseEntityTags } from '../../platform/http/entity-tag.ts';
import { ignoreResponseBytes } from '../../platform/http/pending-responses.ts';
import type { Logger } from '../../platform/observability/log.ts';
import type { FileRow, FileStore } from '../store/store.ts';
import { type ByteRange, parseByteRange } from './byte-range.ts';
import type { FileUrls, GrantedRead } from './urls.ts';

/** Types that browsers show without running any code of the file. Every other type is a download. */
const SHOWN_TYPES = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'application/pdf',
  'text/plain',
]);

/** The content that a URL grants: the file, or a variant of it. */
interface Served {
  key: string;
  type: string;
  bytes: number;
  tag: string;
  disposition: string;
}

function isShown(type: string): boolean {
  return SHOWN_TYPES.has(type) || type.startsWith('audio/') || type.startsWith('video/');
}

function chooseContent(row: FileRow, { variant, isDownload }: GrantedRead): Served | undefined {
  const found = variant === undefined ? { ...row, key: row.storageKey } : row.variants?.[variant];
  if (found === undefined) return undefined;
  const { key, type, bytes } = found;
  const disposition = formatContentDisposition(isShown(type) && !isDownload ? 'inline' : 'attachment', row.name);
  return { key, type, bytes, tag: variant === undefined ? row.id : `${row.id}-${variant}`, disposition };
}

/** Sets the headers that keep a browser from running anything in a file, whatever it contains. */
function setSafeHeaders(res: Response, { type, tag, disposition }: Served, { expires }: GrantedRead): void {
  const seconds = Math.max(0, expires - Math.ceil(Date.now() / 1000));
  res.setHeader('Content-Type', isTextType(type) ? `${type}; charset=utf-8` : type);
  res.setHeader('Content-Disposition', disposition);
  res.setHeader('Content-Security-Policy', "sandbox; default-src 'none'");
  // The signed URL grants access to the file, so pages of any origin may embed it.
  res.setHeader('Cross-Origin-Resource-Policy', 'cross-origin');
  res.setHeader('Referrer-Policy', 'no-referrer');
  res.setHeader('Cache-Control', `private, max-age=${seconds}`);
  res.setHeader('ETag', `"${tag}"`);
  res.setHeader('Accept-Ranges', 'bytes');
}

/** The range to serve. A range of another version of the file (`If-Range`) is ignored. */
function chooseRange(
  { headers }: RouteContext['req'],
  { bytes, tag }: Served,
): ByteRange | 'unsatisfiable' | undefined {
  const ifRange = headers['if-range'];
  return ifRange === undefined || ifRange === `"${tag}"` ? parseByteRange(headers.range, bytes) : undefined;
}

/** Creates the route that serves files by signed URLs. */
export function createServingRoutes({
  storage,
  store,
  urls,
  log,
}: {
  storage: FileStorage;
  store: FileStore;
  urls: FileUrls;
  log: Logger;
}): Route[] {
  /** @throws ApiError NOT_FOUND if the bytes are missing, UNAVAILABLE */
  function toReadError(error: unknown, key: string): unknown {
    if (!(error instanceof StorageError)) return error;
    log.error({ err: error, key }, 'a stored file could not be read');
    return new ApiError(error.reason === 'missing' ? 'NOT_FOUND' : 'UNAVAILABLE', undefined, { cause: error });
  }

  async function findContent(granted: GrantedRead): Promise<Served> {
    const [row] = await store.find([granted.id]);
    const content = row?.state === 'attached' ? chooseContent(row, granted) : undefined;
    if (content === undefined) throw new ApiError('NOT_FOUND');
    return content;
  }

  async function redirectToStorage(res: Response, content: Served, { expires }: GrantedRead): Promise<void> {
    const { key, type, disposition } = content;
    const expiresInMs = Math.max(1000, expires * 1000 - Date.now());
    const location = await storage.signRead!(key, { type, disposition, expiresInMs }).catch((error: unknown) => {
      throw toReadError(error, key);
    });
    res.statusCode = 302;
    res.setHeader('Location', location);
    res.setHeader('Cache-Control', `private, max-age=${Math.floor(expiresInMs / 1000)}`);
    res.setHeader('Referrer-Policy', 'no-referrer');
    res.end();
  }

  async function serve({ req, res, params, query }: RouteContext): Promise<void> {
    const id = params.id!;
    const granted = isId(id) ? urls.verify(id, query) : undefined;
    if (granted === undefined) throw new ApiError('NOT_FOUND', 'This link is invalid or has expired');
    const content = await findContent(granted);
    ignoreResponseBytes(req);
    if (storage.signRead !== undefined) return redirectToStorage(res, content, granted);
    const known = parseEntityTags(req.headers['if-none-match'] ?? '');
    if (known === '*' || known?.some(({ opaque }) => opaque === content.tag)) {
      setSafeHeaders(res, content, granted);
      res.statusCode = 304;
      res.end();
      return;
    }
    const range = chooseRange(req, content);
    if (range === 'unsatisfiable') {
      res.setHeader('Content-Range', `bytes */${content.bytes}`);
      throw new ApiError('RANGE_NOT_SATISFIABLE');
    }
    const isHead = req.method === 'HEAD';
    const body = isHead
      ? undefined
      : await storage.read(content.key, range).catch((error: unknown) => {
          throw toReadError(error, content.key);
        });
    setSafeHeaders(res, content, granted);
    if (range !== undefined) {
      res.statusCode = 206;
      res.setHeader('Content-Range', `bytes ${range.start}-${range.end}/${content.bytes}`);
    }
    res.setHeader('Content-Length', range === undefined ? content.bytes : range.end - range.start + 1);
    if (body === undefined) {
      res.end();
      return;
    }
    try {
      await pipeline(body, res);
    } catch (error) {
      // A client that disconnected, or was cut off, can tell from the Content-Length that the file is incomplete.
      log.info({ err: error, file: id }, 'a file was not sent completely');
      res.destroy();
    }
  }

  return [
    {
      method: 'GET',
      path: '/files/:id/:name',
      policy: 'public',
      file: 'application/octet-stream',
      errors: ['NOT_FOUND', 'RANGE_NOT_SATISFIABLE'],
      operationId: 'readFile',
      // The signature of the URL decides, not the credential.
      organisationKeys: true,
      summary: 'Read a file',
      description: 'The URL of a file, including its signature, is part of the record that the file belongs to.',
      tags: ['files'],
      handler: serve,
    },
  ];
}
