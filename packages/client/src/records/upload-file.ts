import type { Requester } from '../request/request.ts';
import { createProgressFetch } from './progress-fetch.ts';
import { uploadResumably } from './resumable-upload.ts';
import type { OutgoingFile, UploadedFile, UploadOptions, UploadSource } from './upload.ts';

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
