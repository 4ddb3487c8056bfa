import type { CallOptions } from '../request/request.ts';

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
