import { createDeadline, type Deadline } from '../request/deadline.ts';
import { ApiError } from '../request/errors.ts';
import type { ApiRequest, Requester } from '../request/request.ts';
import { waitBeforeRetry } from '../request/retry.ts';
import { createProgressFetch } from './progress-fetch.ts';
import type { OutgoingFile, UploadedFile, UploadOptions } from './upload.ts';

const VERSION = { 'Tus-Resumable': '1.0.0' };
const CHUNK_BYTES = 4 * 2 ** 20;
/** A chunk that takes longer is cut off, and the upload continues after the bytes that have arrived. */
const CHUNK_TIMEOUT_MS = 120_000;
/** How often an upload may fail in succession without a byte of progress. */
const MAX_FAILURES = 6;

/** Encodes the values of `Upload-Metadata`: base64 of UTF-8. */
function encodeMetadata(values: Record<string, string>): string {
  const encode = (text: string) => btoa(String.fromCharCode(...new TextEncoder().encode(text)));
  return Object.entries(values)
    .map(([name, value]) => `${name} ${encode(value)}`)
    .join();
}

/** Whether the upload can continue after the error. */
const canContinue = ({ status, code }: ApiError): boolean =>
  code === 'NETWORK_ERROR' || code === 'TIMEOUT' || [409, 429, 502, 503, 504].includes(status);

/** The id, and the token of a caller without a session, in the address of an upload. */
function parseLocation(location: string | null): { id: string; token: string | undefined } {
  const [, id, token] = /\/files\/resumable\/([^/?]+)(?:\?token=([^&]+))?$/.exec(location ?? '') ?? [];
  if (id === undefined)
    throw new ApiError({ status: 201, code: 'INVALID_RESPONSE', message: 'The response has no address of the upload' });
  return { id, token };
}

/** The number of bytes that the server has. */
function parseOffset(headers: Headers): number {
  const offset = Number(headers.get('upload-offset') ?? Number.NaN);
  if (Number.isSafeInteger(offset)) return offset;
  throw new ApiError({ status: 200, code: 'INVALID_RESPONSE', message: 'The response has no Upload-Offset' });
}

/** An upload that the server has accepted. */
interface Upload {
  send(request: Pick<ApiRequest, 'method' | 'headers' | 'body' | 'fetch' | 'timeoutMs'>): Promise<Headers>;
  content: Blob;
  report(sentBytes: number): void;
}

/** Sends the bytes from an offset, in chunks. Returns when the server has all of them. */
async function sendContent({ send, content, report }: Upload, deadline: Deadline): Promise<void> {
  let failures = 0;
  for (let offset = 0; offset < content.size; ) {
    const start = offset;
    try {
      // After a failure, only the server knows how much has arrived.
      if (failures > 0) offset = parseOffset(await send({ method: 'GET' }));
      if (offset < content.size)
        offset = parseOffset(
          await send({
            method: 'PATCH',
            headers: { 'Upload-Offset': String(offset), 'Content-Type': 'application/offset+octet-stream' },
            body: content.slice(offset, offset + CHUNK_BYTES),
            fetch: createProgressFetch((bytes) => report(start + bytes)),
            timeoutMs: CHUNK_TIMEOUT_MS,
          }),
        );
      report(offset);
      failures = 0;
    } catch (error) {
      if (deadline.signal.aborted || !(error instanceof ApiError) || !canContinue(error)) throw error;
      failures = offset > start ? 1 : failures + 1;
      if (failures > MAX_FAILURES) throw error;
      await waitBeforeRetry(error, failures, deadline);
    }
  }
}

/** Uploads a file by the tus protocol, which continues after a lost connection. */
export async function uploadResumably(
  requester: Requester,
  { field, content, name, type }: OutgoingFile,
  { headers, signal, timeoutMs = Number.POSITIVE_INFINITY, onProgress }: UploadOptions,
): Promise<UploadedFile> {
  const deadline = createDeadline(signal, timeoutMs, `The upload of ${name}`);
  const common = { signal: deadline.signal, headers: { ...headers, ...VERSION } };
  try {
    const created = await requester.send({
      signal: deadline.signal,
      method: 'POST',
      path: '/files/resumable',
      headers: {
        ...common.headers,
        'Upload-Length': String(content.size),
        'Upload-Metadata': encodeMetadata({ field, filename: name, filetype: type }),
      },
    });
    const { id, token } = parseLocation(created.headers.get('location'));
    const path = `/files/resumable/${id}`;
    const totalBytes = content.size;
    const upload: Upload = {
      content,
      report: (sentBytes) => onProgress?.({ sentBytes: Math.min(sentBytes, totalBytes), totalBytes }),
      send: async (request) =>
        (
          await requester.send({
            ...common,
            ...request,
            headers: { ...common.headers, ...request.headers },
            path,
            query: { token },
          })
        ).headers,
    };
    try {
      await sendContent(upload, deadline);
    } catch (error) {
      // The server removes unfinished uploads by itself after some time; this only frees the caller's quota earlier.
      if (deadline.signal.aborted)
        void requester
          .send({ method: 'DELETE', path, query: { token }, headers: common.headers })
          .catch(() => undefined);
      throw error;
    }
    const { data } = await requester.send<UploadedFile>({
      ...{ ...common, method: 'POST', path: `/files/uploads/${id}/complete`, query: { token } },
      // It only describes the finished upload, so it may be repeated; the route ignores the key of such a request.
      retry: 'safe',
    });
    return token === undefined ? data : { ...data, token };
  } catch (error) {
    throw deadline.signal.aborted ? deadline.reason : error;
  } finally {
    deadline.end(false);
  }
}
