import { escapeHtml } from '../../../helpers/escape-html.ts';
import type { S3Client } from './client.ts';
import { findElements, S3Error } from './errors.ts';

/** A multipart upload of one object. Part numbers begin at 1. */
interface MultipartUpload {
  sendPart(number: number, part: Buffer, signal?: AbortSignal): Promise<void>;
  /** Copies an object of the bucket into a part, without a transfer to this process. */
  copyPart(number: number, source: string): Promise<void>;
  /** Creates the object from the parts. @param bytes the length of all parts */
  complete(bytes: number): Promise<void>;
  /** Removes all parts. No part may be in flight. */
  abort(): Promise<void>;
}

function toEtag(text: string | undefined): string {
  if (text) return text;
  throw new S3Error('unavailable', 'S3 could not store a part: the response has no ETag');
}

/**
 * Begins a multipart upload. Until it is complete, S3 shows no object under the key.
 *
 * @param toCopySource returns the value of `x-amz-copy-source` for a key
 */
export async function startMultipartUpload(
  client: S3Client,
  toCopySource: (key: string) => string,
  key: string,
  type: string,
): Promise<MultipartUpload> {
  const started = await client.send({
    action: 'begin an upload',
    method: 'POST',
    key,
    query: { uploads: '' },
    headers: { 'content-type': type },
  });
  const uploadId = findElements(started.text, 'UploadId')[0];
  if (!uploadId) throw new S3Error('unavailable', 'S3 could not begin an upload: the response has no UploadId');
  const etags: string[] = [];

  /** Whether an earlier attempt, whose response was lost, created the object. */
  async function isStored(bytes: number): Promise<boolean> {
    const found = await client.send({ action: 'find a file', method: 'HEAD', key }).catch(() => undefined);
    return found?.header('content-length') === String(bytes);
  }

  return {
    async sendPart(number, body, signal) {
      const query = { partNumber: String(number), uploadId };
      const response = await client.send({ action: 'store a part', method: 'PUT', key, query, body, signal });
      etags[number - 1] = toEtag(response.header('etag'));
    },

    async copyPart(number, source) {
      const query = { partNumber: String(number), uploadId };
      const headers = { 'x-amz-copy-source': toCopySource(source) };
      const { text } = await client.send({ action: 'copy a part', method: 'PUT', key, query, headers });
      etags[number - 1] = toEtag(findElements(text, 'ETag')[0]);
    },

    async complete(bytes) {
      const parts = etags.map((etag, index) => {
        return `<Part><PartNumber>${index + 1}</PartNumber><ETag>${escapeHtml(etag)}</ETag></Part>`;
      });
      const body = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
      try {
        const headers = { 'content-type': 'application/xml' };
        await client.send({ action: 'complete an upload', method: 'POST', key, query: { uploadId }, headers, body });
      } catch (error) {
        if (!(error instanceof S3Error && error.code === 'NoSuchUpload' && (await isStored(bytes)))) throw error;
      }
    },

    async abort() {
      try {
        await client.send({ action: 'abort an upload', method: 'DELETE', key, query: { uploadId } });
      } catch (error) {
        if (!(error instanceof S3Error && error.reason === 'missing')) throw error;
      }
    },
  };
}
