import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError, validationError } from '../../platform/helpers/errors.ts';
import { mediaTypeOf, openBody, tooLargeError } from '../../platform/http/bodies/body-stream.ts';
import { hasBody } from '../../platform/http/json-body.ts';
import type { FileRow } from '../store/store.ts';
import type { FilesContext } from './context.ts';
import { describeServer, parseMetadata, readCount, setExpiry, startResponse } from './tus-headers.ts';
import { presentedTokenHash, uploaderOf } from './uploader.ts';
import { ownsUpload, toUploadError, uploadKeyOf } from './uploads.ts';

const PART_TYPE = 'application/offset+octet-stream';
/** Bytes after which the progress is stored, so that a killed process loses little. S3 needs parts of at least 5 MiB. */
const SEGMENT_BYTES = 8 * 2 ** 20;

async function* emptyBody(): AsyncGenerator<Uint8Array> {}

/** A part of a body, up to a number of bytes. Ends early if the client disconnects, so that what arrived is kept. */
class Segments {
  /** The error that ended the body early. */
  failure: unknown;
  isEnded = false;
  readonly #chunks: AsyncIterator<Uint8Array>;
  #left: Uint8Array | undefined;

  constructor(body: AsyncIterable<Uint8Array>) {
    this.#chunks = body[Symbol.asyncIterator]();
  }

  async *next(maxBytes: number): AsyncGenerator<Uint8Array> {
    for (let bytes = 0; bytes < maxBytes; ) {
      const chunk = this.#left ?? (await this.#read());
      if (chunk === undefined) return;
      const room = maxBytes - bytes;
      this.#left = chunk.length > room ? chunk.subarray(room) : undefined;
      bytes += Math.min(chunk.length, room);
      yield chunk.subarray(0, room);
    }
  }

  async #read(): Promise<Uint8Array | undefined> {
    try {
      const { done, value } = await this.#chunks.next();
      if (!done) return value;
    } catch (error) {
      this.failure = error;
    }
    this.isEnded = true;
    return undefined;
  }
}

/** Whether a request carries bytes of an upload. @throws ApiError UNSUPPORTED_MEDIA_TYPE if it has a body of another type */
function carriesPart(req: RouteContext['req'], isRequired: boolean): boolean {
  if (mediaTypeOf(req.headers['content-type']) === PART_TYPE) return true;
  if (!isRequired && !hasBody(req)) return false;
  throw new ApiError('UNSUPPORTED_MEDIA_TYPE', `The Content-Type must be ${PART_TYPE}`);
}

/** Creates the routes of resumable uploads: the tus protocol 1.0 with the extensions creation, expiration and termination. */
export function createResumableRoutes(context: FilesContext): Route[] {
  const { uploads, targets, store, storage, hashes, settings, log } = context;

  /** @throws ApiError NOT_FOUND unless it is a resumable upload of the caller */
  async function findUpload({ user, params, query }: RouteContext): Promise<FileRow> {
    const [row] = await store.find([params.id!]);
    const isMine = row !== undefined && ownsUpload(row, user, presentedTokenHash(query.token));
    if (!isMine || (row.state !== 'receiving' && row.state !== 'pending')) throw new ApiError('NOT_FOUND');
    if (row.state === 'receiving' && row.receivedBytes === null) throw new ApiError('NOT_FOUND');
    if (!targets.isReachable(row.resource, user)) throw new ApiError('NOT_FOUND');
    return row;
  }

  const offsetOf = ({ state, receivedBytes, bytes }: FileRow) => (state === 'pending' ? bytes : receivedBytes!);

  async function create(ctx: RouteContext): Promise<void> {
    const { req, res, user, query } = ctx;
    startResponse(ctx);
    const header = String(req.headers['upload-metadata'] ?? '');
    const metadata = parseMetadata(header);
    const target = await targets.authorize(metadata.get('field') ?? query.field, ctx);
    if (req.headers['upload-defer-length'] !== undefined)
      throw new ApiError('BAD_REQUEST', 'Upload-Defer-Length is not supported; send Upload-Length');
    const bytes = readCount(req, 'upload-length');
    if (bytes === 0) throw validationError({ [target.field.name]: 'Must not be empty' });
    const hasPart = carriesPart(req, false);
    if (hasPart) assertFits(req, bytes);
    const uploader = uploaderOf(user, req, hashes);
    const type = mediaTypeOf(metadata.get('filetype') ?? metadata.get('type'));
    const announced = { name: metadata.get('filename') ?? metadata.get('name'), type, bytes, uploadMetadata: header };
    const { id } = await uploads.start(target, uploader, announced, true);
    const token = uploader.token === undefined ? '' : `?token=${uploader.token}`;
    if (hasPart) {
      const [row] = await store.find([id]);
      if (row !== undefined) await receivePart(ctx, row, 0);
    }
    res.setHeader('Location', `/api/files/resumable/${id}${token}`);
    const expires = Date.now() + settings.files.pendingTtl;
    setExpiry(res, { dueAt: new Date(expires).toISOString() });
    res.status(201).end();
  }

  async function readProgress(ctx: RouteContext): Promise<void> {
    const { res } = ctx;
    startResponse(ctx);
    const row = await finishIfComplete(ctx, await findUpload(ctx));
    res.setHeader('Upload-Offset', offsetOf(row));
    res.setHeader('Upload-Length', row.bytes);
    if (row.uploadMetadata) res.setHeader('Upload-Metadata', row.uploadMetadata);
    setExpiry(res, row);
    res.status(200).end();
  }

  /** Makes an upload pending whose bytes are all there. Also called later, in case the process was killed in between. */
  async function finishIfComplete(ctx: RouteContext, row: FileRow): Promise<FileRow> {
    if (row.state !== 'receiving' || row.receivedBytes !== row.bytes) return row;
    const target = await targets.authorize(`${row.resource}.${row.field}`, ctx);
    return uploads.finishResumable(target, row);
  }

  /** Stores a part of the body. Returns the new length of the upload. */
  async function appendSegment(row: FileRow, fence: number, offset: number, segments: Segments): Promise<number> {
    const size = Math.min(SEGMENT_BYTES, row.bytes - offset);
    const { length } = await storage
      .append(uploadKeyOf(row), offset, segments.next(size), {})
      .catch((error: unknown) => {
        throw toUploadError(error, log);
      });
    if (await store.endPart(row.id, fence, offset, length)) return length;
    await removeIfEnded(row);
    throw new ApiError('CONFLICT', 'Another request continues this upload');
  }

  /** Removes the bytes of a part that arrived after the upload was completed or ended, instead of leaving them to a later sweep. */
  async function removeIfEnded(row: FileRow): Promise<void> {
    const [current] = await store.find([row.id]);
    if (current?.state === 'receiving') return;
    await storage.remove([uploadKeyOf(row)]).catch((error: unknown) => {
      throw toUploadError(error, log);
    });
  }

  function assertFits({ headers }: RouteContext['req'], left: number): void {
    if (Number(headers['content-length'] ?? 0) > left) throw tooLargeError(left);
  }

  /** Stores the body of a request from an offset on, and sets the headers of the response. Finishes the upload with its last byte. */
  async function receivePart(ctx: RouteContext, row: FileRow, start: number): Promise<void> {
    const { req, res } = ctx;
    const fence = start === offsetOf(row) ? await store.startPart(row.id, start) : undefined;
    if (fence === undefined) throw new ApiError('CONFLICT', `The upload continues at ${offsetOf(row)} bytes`);
    const left = row.bytes - start;
    assertFits(req, left);
    const segments = new Segments(openBody(req, left) ?? emptyBody());
    let offset = start;
    while (!segments.isEnded && offset < row.bytes) offset = await appendSegment(row, fence, offset, segments);
    if (segments.failure !== undefined) throw segments.failure;
    const current = await finishIfComplete(ctx, { ...row, receivedBytes: offset });
    res.setHeader('Upload-Offset', offset);
    setExpiry(res, current);
  }

  async function append(ctx: RouteContext): Promise<void> {
    const { req, res } = ctx;
    startResponse(ctx);
    carriesPart(req, true);
    await receivePart(ctx, await findUpload(ctx), readCount(req, 'upload-offset'));
    res.status(204).end();
  }

  async function terminate(ctx: RouteContext): Promise<void> {
    startResponse(ctx);
    const row = await findUpload(ctx);
    await store.discard([row.id]);
    ctx.res.status(204).end();
  }

  const item = '/files/resumable/:id';
  const optionsHeaders = describeServer(targets.largestFile);
  const shared = {
    policy: 'public',
    body: 'raw',
    tags: ['files'],
    hidden: true,
    organisationKeys: true,
    optionsHeaders,
  } as const;
  return [
    {
      ...shared,
      method: 'POST',
      path: '/files/resumable',
      rateLimit: settings.files.uploadLimit,
      handler: create,
    },
    { ...shared, method: 'GET', path: item, handler: readProgress },
    { ...shared, method: 'PATCH', path: item, handler: append },
    { ...shared, method: 'DELETE', path: item, handler: terminate },
  ];
}
