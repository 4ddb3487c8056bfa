/** A file in a response. */
export interface ClientFile {
  id: string;
  /** The name with which it was uploaded, cleaned. */
  name: string;
  /** The media type, determined from the content. */
  type: string;
  bytes: number;
  /** Pixels, of an image field. */
  width?: number;
  /** Pixels, of an image field. */
  height?: number;
  /** A URL that serves the file for a few minutes; absent in deleted records. */
  url?: string;
  /** The URLs of smaller versions, by name. */
  variants?: Readonly<Record<string, string>>;
}

/** The value that sets a file field: the id of an upload, or a file as an upload or a response returned it. */
export type FileValue =
  | string
  | {
      id: string;
      /** The token of an upload by a caller who is not signed in. */
      token?: string | undefined;
    };
