import type { RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { mediaTypeOf, openBody, tooLargeError } from '../../platform/http/bodies/body-stream.ts';
import { hasBody } from '../../platform/http/json-body.ts';
import type { FileRow } from '../store/store.ts';
import type { FilesContext } from './context.ts';
import { setExpiry } from './tus-headers.ts';
import { fromStorage, uploadKeyOf } from './uploads.ts';

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
export function carriesPart(req: RouteContext['req'], isRequired: boolean): boolean {
  if (mediaTypeOf(req.headers['content-type']) === PART_TYPE) return true;
  if (!isRequired && !hasBody(req)) return false;
  throw new ApiError('UNSUPPORTED_MEDIA_TYPE', `The Content-Type must be ${PART_TYPE}`);
}

/** @throws ApiError PAYLOAD_TOO_LARGE if a request announces more bytes than are left of an upload */
export function assertPartFits({ headers }: RouteContext['req'], left: number): void {
  if (Number(headers['content-length'] ?? 0) > left) throw tooLargeError(left);
}

/** The bytes that a resumable upload has. */
export function offsetOf({ state, receivedBytes, bytes }: FileRow): number {
  return state === 'pending' ? bytes : receivedBytes!;
}

/** Creates the functions that store parts of resumable uploads, and finish an upload that has all of them. */
export function createPartReceiver({ uploads, targets, store, storage, log }: FilesContext) {
  /** Removes the bytes of a part that arrived after the upload was completed or ended, instead of leaving them to a later sweep. */
  async function removeIfEnded(row: FileRow): Promise<void> {
    const [current] = await store.find([row.id]);
    if (current?.state === 'receiving') return;
    await fromStorage(storage.remove([uploadKeyOf(row)]), log);
  }

  /** Stores a part of the body. Returns the new length of the upload. */
  async function appendSegment(row: FileRow, fence: number, offset: number, segments: Segments): Promise<number> {
    const size = Math.min(SEGMENT_BYTES, row.bytes - offset);
    const { length } = await fromStorage(storage.append(uploadKeyOf(row), offset, segments.next(size), {}), log);
    if (await store.endPart(row.id, fence, offset, length)) return length;
    await removeIfEnded(row);
    throw new ApiError('CONFLICT', 'Another request continues this upload');
  }

  /** Makes an upload pending whose bytes are all there. Also called later, in case the process was killed in between. */
  async function finishIfComplete(ctx: RouteContext, row: FileRow): Promise<FileRow> {
    if (row.state !== 'receiving' || row.receivedBytes !== row.bytes) return row;
    const target = await targets.authorize(`${row.resource}.${row.field}`, ctx);
    return uploads.finishResumable(target, row);
  }

  return {
    finishIfComplete,

    /** Stores the body of a request from an offset on, and sets the headers of the response. Finishes the upload with its last byte. */
    async receive(ctx: RouteContext, row: FileRow, start: number): Promise<void> {
      const { req, res } = ctx;
      const fence = start === offsetOf(row) ? await store.startPart(row.id, start) : undefined;
      if (fence === undefined) throw new ApiError('CONFLICT', `The upload continues at ${offsetOf(row)} bytes`);
      const left = row.bytes - start;
      assertPartFits(req, left);
      const segments = new Segments(openBody(req, left) ?? emptyBody());
      let offset = start;
      while (!segments.isEnded && offset < row.bytes) offset = await appendSegment(row, fence, offset, segments);
      if (segments.failure !== undefined) throw segments.failure;
      const current = await finishIfComplete(ctx, { ...row, receivedBytes: offset });
      res.setHeader('Upload-Offset', offset);
      setExpiry(res, current);
    },
  };
}
