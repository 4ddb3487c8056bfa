import { createHash, randomUUID } from 'node:crypto';

/** The least size of a part that is not the last one. */
const MIN_PART_BYTES = 5 * 1024 * 1024;

/** An error that the server answers. */
export class BucketError extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string) {
    super(code);
    this.status = status;
    this.code = code;
  }
}

/** A stored object. */
export interface StoredObject {
  bytes: Buffer;
  type: string;
  etag: string;
}

const etagOf = (bytes: Buffer) => `"${createHash('md5').update(bytes).digest('hex')}"`;

/** The objects and multipart uploads of a bucket, in memory. */
export class Bucket {
  readonly objects = new Map<string, StoredObject>();
  readonly uploads = new Map<string, { key: string; type: string; parts: Map<number, Buffer> }>();

  put(key: string, bytes: Buffer, type: string): StoredObject {
    const object = { bytes, type, etag: etagOf(bytes) };
    this.objects.set(key, object);
    return object;
  }

  get(key: string): StoredObject {
    const object = this.objects.get(key);
    if (!object) throw new BucketError(404, 'NoSuchKey');
    return object;
  }

  /** @param source the value of `x-amz-copy-source` */
  copySource(source: string): Buffer {
    return this.get(decodeURIComponent(source).replace(/^\/?[^/]+\//, '')).bytes;
  }

  startUpload(key: string, type: string): string {
    const id = randomUUID();
    this.uploads.set(id, { key, type, parts: new Map() });
    return id;
  }

  #uploadOf(id: string) {
    const upload = this.uploads.get(id);
    if (!upload) throw new BucketError(404, 'NoSuchUpload');
    return upload;
  }

  putPart(id: string, number: number, bytes: Buffer): string {
    this.#uploadOf(id).parts.set(number, bytes);
    return etagOf(bytes);
  }

  completeUpload(id: string, xml: string): StoredObject {
    const { key, type, parts } = this.#uploadOf(id);
    const listed = Array.from(xml.matchAll(/<Part><PartNumber>(\d+)<\/PartNumber><ETag>([^<]+)<\/ETag><\/Part>/g));
    if (listed.length === 0) throw new BucketError(400, 'MalformedXML');
    const bytes = listed.map(([, number, etag], index) => {
      const part = parts.get(Number(number));
      if (!part || etagOf(part) !== etag!.replaceAll('&quot;', '"')) throw new BucketError(400, 'InvalidPart');
      if (index < listed.length - 1 && part.length < MIN_PART_BYTES) throw new BucketError(400, 'EntityTooSmall');
      return part;
    });
    this.uploads.delete(id);
    return this.put(key, Buffer.concat(bytes), type);
  }

  abortUpload(id: string): void {
    this.#uploadOf(id);
    this.uploads.delete(id);
  }
}
