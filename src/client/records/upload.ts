import type { CallOptions, Requester } from '../request.ts';
import { createProgressFetch } from './progress-fetch.ts';
import { uploadResumably } from './resumable-upload.ts';

/** What can be uploaded: a file or other bytes. */
export type UploadSource = Blob | ArrayBuffer | Uint8Array<ArrayBuffer>;

/** How much of a file has been sent. */
export interface UploadProgress {
  sentBytes: number;
  totalBytes: number;
}

/** The options of an upload. `timeoutMs` is Infinity unless it is given here. */
export interface UploadOptions extends CallOptions {
  /** Default: the name of the `File`. */
  name?: string | undefined;
  /** The media type. Default: that of the `Blob`. The server examines the content, whatever the type says. */
  type?: string | undefined;
  /**
   * Called while the file is sent: continuously in browsers; elsewhere at the end, and for resumable uploads after every 4 MiB.
   */
  onProgress?: ((progress: UploadProgress) => void) | undefined;
  /** Whether the upload continues after a lost connection. Default: true from 16 MiB. */
  resumable?: boolean | undefined;
}

/** An uploaded file: the value for the field that it is for. */
export interface UploadedFile {
  id: string;
  name: string;
  type: string;
  bytes: number;
  /** The size of an image, if the field declares `image`. */
  width?: number;
  height?: number;
  /** Without a session: proves that the upload is the caller's. */
  token?: string;
}

/** A file that is ready to be uploaded. */
export interface OutgoingFile {
  /** The field that it is for: `/posts.cover`. */
  field: string;
  content: Blob;
  name: string;
  type: string;
}

const RESUMABLE_FROM_BYTES = 16 * 2 ** 20;

/** Encodes a file name for `Content-Disposition` (RFC 8187). */
const encodeName = (name: string): string =>
  encodeURIComponent(name.toWellFormed()).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);

async function uploadAtOnce(
  requester: Requester,
  { field, content, name, type }: OutgoingFile,
  { onProgress, ...options }: UploadOptions,
): Promise<UploadedFile> {
  const { headers, signal, timeoutMs } = options;
  const totalBytes = content.size;
  const report = (sentBytes: number) => onProgress?.({ sentBytes: Math.min(sentBytes, totalBytes), totalBytes });
  const { data } = await requester.send<UploadedFile>({
    signal,
    timeoutMs,
    method: 'POST',
    path: '/files/uploads',
    query: { field },
    headers: {
      ...headers,
      'Content-Type': type,
      'Content-Disposition': `attachment; filename*=UTF-8''${encodeName(name)}`,
    },
    body: content,
    ...(onProgress && { fetch: createProgressFetch(report) }),
  });
  report(totalBytes);
  return data;
}

/**
 * Uploads a file for a field of a resource.
 *
 * @throws ApiError such as `PAYLOAD_TOO_LARGE` and `VALIDATION_ERROR`, if the field does not accept the file
 */
export async function uploadFile(
  requester: Requester,
  field: string,
  source: UploadSource,
  { name, type, resumable, timeoutMs = Number.POSITIVE_INFINITY, ...options }: UploadOptions,
): Promise<UploadedFile> {
  const content = source instanceof Blob ? source : new Blob([source]);
  const file = {
    field,
    content,
    name: name ?? (content as { name?: string }).name ?? 'file',
    type: type ?? (content.type || 'application/octet-stream'),
  };
  const send = (resumable ?? content.size >= RESUMABLE_FROM_BYTES) ? uploadResumably : uploadAtOnce;
  return send(requester, file, { ...options, timeoutMs });
}
