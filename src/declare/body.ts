import type { Readable } from 'node:stream';
import type { StandardSchema } from '../platform/helpers/standard-schema.ts';

/** A body of bytes, which the handler reads as a stream. */
export interface BinaryBody {
  kind: 'binary';
  /** The accepted media types: `text/csv`, `image/*`. Default: any. */
  types?: readonly string[];
  /** Maximum bytes; a larger body fails with PAYLOAD_TOO_LARGE. */
  maxBytes: number;
}

/** The rules for the files in one field of a form. */
export interface FormFileRules {
  /** Maximum bytes of one file. */
  maxBytes: number;
  /** The media types that a client may claim for a file: `application/pdf`, `image/*`. Default: any. The content is not checked. */
  types?: readonly string[];
  /** Whether the form must contain a file in this field. */
  required?: boolean;
}

/** A form with files (`multipart/form-data`). Its text fields must come before its files. */
export interface MultipartBody {
  kind: 'multipart';
  /** Checks the text fields, whose values are texts: use `z.coerce` for numbers. A field that is sent twice is a list. Default: no fields. */
  fields?: StandardSchema;
  /** The form fields that take files. */
  files: Readonly<Record<string, FormFileRules>>;
  /** Maximum number of files. Default: one for each field in `files`. */
  maxFiles?: number;
}

/** A file in a form, in the order the client sent them. Read its stream before you ask for the next file. */
export interface ReceivedFile<Field extends string = string> {
  /** The form field. */
  field: Field;
  /** The file name that the client sent: never use it as a path. */
  name: string;
  /** The media type that the client claims. */
  type: string;
  /** The bytes. The stream fails if the file is too large or if the client disconnects. */
  stream: Readable;
}

/** The content of a form: its checked text fields, and its files while they arrive. */
export interface MultipartContent<Fields = unknown, Field extends string = string> {
  fields: Fields;
  /** Fails with the error of the client, if the form is truncated, too large or lacks a required file. */
  files: AsyncIterable<ReceivedFile<Field>>;
}

/** The type of `ctx.body` of a route with such a body. */
export type BodyContent<B> = B extends { kind: 'binary' }
  ? Readable
  : B extends { kind: 'multipart'; files: infer Files }
    ? MultipartContent<
        B extends { fields: StandardSchema<infer Fields> } ? Fields : Record<string, never>,
        keyof Files & string
      >
    : unknown;
