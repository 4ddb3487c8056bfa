import type { Readable } from 'node:stream';
import type { ImageVariantInput } from '../platform/data/storage/images/variant.ts';

/** The rules of a field that holds files. */
export interface FileOptions {
  /** Maximum bytes. Default 10 MiB. */
  maxBytes?: number;
  /** The accepted media types, which Belfry determines from the content: `image/*`, `application/pdf`. Default: all. */
  types?: readonly string[];
  /** Whether photos keep the place where they were taken, which their metadata can contain. Default false: it is removed. */
  keepLocation?: boolean;
  /** The field holds images: their size is read, and oversized ones are refused. */
  image?: {
    /** Maximum width × height. Default 50 million. */
    maxPixels?: number;
    /** Smaller versions of each image, by name. */
    variants?: Readonly<Record<string, ImageVariantInput>>;
  };
}

/** A stored file, as a record holds it. In responses it also has `url` and the URLs of its `variants`. */
export interface StoredFile {
  id: string;
  /** The name at the upload, cleaned. */
  name: string;
  /** The media type, determined from the content. */
  type: string;
  bytes: number;
  /** The SHA-256 of the content in hex, if it is known. */
  sha256?: string;
  /** Pixels, of an image field. */
  width?: number;
  /** Pixels, of an image field. */
  height?: number;
  /** The names of the variants that exist. */
  variants?: readonly string[];
}

/** The value that sets a file field: the id of an upload, an object with that id, or a file as `app.files.store` or a response returned it. */
export type FileInput =
  | string
  | StoredFile
  | {
      id: string;
      /** The token of an upload by a caller who is not signed in. */
      token?: string | undefined;
      [property: string]: unknown;
    };

/** The files of an app, for code. */
export interface FilesApi {
  /**
   * Stores a file. Set a file field to the result within `files.pendingTtl`, otherwise the file is removed.
   *
   * @param options `field`: `<resource>.<field>`, the field that the file is for. It then meets the rules of the field, and images get their sizes
   *   and variants
   * @throws ApiError STORAGE_FULL, UNAVAILABLE; with `field` VALIDATION_ERROR, PAYLOAD_TOO_LARGE, UNSUPPORTED_MEDIA_TYPE
   * @example const file = await app.files.store(createReadStream('report.pdf'), { name: 'report.pdf' });
   *   await app.service('ticket').create({ title: 'Report', attachment: file });
   */
  store(body: AsyncIterable<Uint8Array>, options: { name: string; type?: string; field?: string }): Promise<StoredFile>;
  /** Reads the bytes of a file. @throws ApiError NOT_FOUND if it was removed */
  read(file: Pick<StoredFile, 'id'>): Promise<Readable>;
  /** Returns a URL that serves the file for at most `files.urlTtl`. `isDownload`: browsers save it instead of showing it. */
  urlOf(file: Pick<StoredFile, 'id' | 'name'>, options?: { variant?: string; isDownload?: boolean }): string;
}
