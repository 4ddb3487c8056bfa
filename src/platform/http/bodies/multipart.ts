import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Dicer } from '@fastify/busboy';
import { ApiError } from '../../helpers/errors.ts';
import { mediaTypeOf, openBody, tooLargeError } from './body-stream.ts';
import { parseContentDisposition } from './content-disposition.ts';

/** A text field of a form. */
export interface FormField {
  kind: 'field';
  name: string;
  value: string;
}

/** A file of a form. Its bytes must be read before the next part. */
export interface FormFile {
  kind: 'file';
  /** The name of the form field. */
  field: string;
  /** The file's name as the client sent it. */
  name: string;
  /** The media type that the client claims, in lower case. */
  type: string;
  /** The bytes. The stream fails if the file is too large, if the form is truncated, or when the client disconnects. */
  stream: AsyncIterable<Buffer>;
}

/** The limits of a form. */
export interface FormLimits {
  /** Maximum number of text fields. */
  maxFields: number;
  /** Maximum number of files. */
  maxFiles: number;
  /** Why no more files are allowed, as the end of the error message. */
  maxFilesReason?: string;
  /** Maximum bytes of all text fields together. */
  maxFieldBytes: number;
  /** The maximum bytes of a file in a form field. @throws ApiError if the form field takes no files */
  maxFileBytes(field: string): number;
  /** The maximum bytes of the whole body. */
  maxBytes: number;
}

const MAX_NAME_LENGTH = 100;
/** Maximum number of file inputs with nothing chosen. */
const MAX_EMPTY_INPUTS = 1000;
const MAX_HEADERS = 16;
const MAX_HEADER_BYTES = 8 * 1024;
/** RFC 2046 §5.1.1. */
const BOUNDARY = /;[ \t]*boundary=(?:"([0-9A-Za-z'()+_,./:=? -]{1,70})"|([0-9A-Za-z'()+_,./:=?-]{1,70}))[ \t]*(?:;|$)/i;

const malformed = (message: string, cause?: unknown) =>
  new ApiError('BAD_REQUEST', message, ...(cause === undefined ? [] : [{ cause }]));

/** Whether a request declares a form that can contain files. */
export function declaresForm(req: IncomingMessage): boolean {
  return mediaTypeOf(req.headers['content-type']) === 'multipart/form-data';
}

function parseBoundary(req: IncomingMessage): string {
  const [, quoted, plain] = BOUNDARY.exec(req.headers['content-type'] ?? '') ?? [];
  const boundary = quoted ?? plain;
  if (boundary === undefined) throw malformed('The Content-Type multipart/form-data needs a valid boundary parameter');
  return boundary;
}

type PartHeaders = Record<string, string[] | undefined>;

/** Reads the headers of a part. @param index the number of the part, from 1, for errors */
function readPartHeaders(headers: PartHeaders, index: number) {
  const values = Object.values(headers).flat();
  const bytes = values.reduce((sum, value) => sum + value!.length, 0);
  if (values.length > MAX_HEADERS || bytes >= MAX_HEADER_BYTES) throw malformed(`Part ${index} has too many headers`);
  const dispositions = headers['content-disposition'] ?? [];
  const disposition = dispositions.length === 1 ? parseContentDisposition(dispositions[0]!) : undefined;
  if (disposition?.type !== 'form-data' || disposition.name === undefined || disposition.name === '')
    throw malformed(`Part ${index} needs the header Content-Disposition: form-data with a name`);
  const { name, filename } = disposition;
  if (name.length > MAX_NAME_LENGTH)
    throw malformed(`The name of part ${index} must be at most ${MAX_NAME_LENGTH} characters`);
  if (name in Object.prototype) throw malformed(`The name of part ${index}, "${name}", is not allowed`);
  const encoding = headers['content-transfer-encoding']?.[0]?.trim().toLowerCase() ?? 'binary';
  if (!['binary', '7bit', '8bit'].includes(encoding))
    throw malformed(`The part "${name}" must not have a Content-Transfer-Encoding`);
  return { name, filename, type: mediaTypeOf(headers['content-type']?.[0]) || 'application/octet-stream' };
}

const decoder = new TextDecoder('utf-8', { fatal: true });

async function readText(name: string, stream: AsyncIterable<Buffer>, maxBytes: number): Promise<[string, number]> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream) {
    bytes += chunk.length;
    if (bytes > maxBytes) throw new ApiError('PAYLOAD_TOO_LARGE', `The field "${name}" makes the form too large`);
    chunks.push(chunk);
  }
  try {
    return [decoder.decode(Buffer.concat(chunks)), bytes];
  } catch (error) {
    throw malformed(`The field "${name}" must be UTF-8`, error);
  }
}

/** Waits for the first bytes of a part and puts them back. Returns whether the part ended without any. */
function isEmptyPart(stream: Readable): Promise<boolean> {
  return new Promise((resolve) => {
    const finish = (isEmpty: boolean) => {
      stream.off('readable', peek).off('end', onEnd).off('close', onClose);
      resolve(isEmpty);
    };
    const peek = () => {
      const chunk: Buffer | null = stream.read();
      if (chunk === null) return;
      stream.unshift(chunk);
      finish(false);
    };
    const onEnd = () => finish(true);
    // Readers of the part get the error.
    const onClose = () => finish(false);
    stream.on('readable', peek).on('end', onEnd).on('close', onClose);
  });
}

/** A part whose headers have arrived. */
interface ArrivedPart {
  headers: PartHeaders;
  stream: Readable;
}

/** Feeds a body to the parser and returns the parts as they arrive. `stop` ends the feeding; it must be called. */
function startParsing(body: AsyncIterable<Buffer>, boundary: string) {
  const config = { boundary, maxHeaderPairs: MAX_HEADERS + 1, maxHeaderSize: MAX_HEADER_BYTES };
  const parser = new Dicer(config);
  const arrived: ArrivedPart[] = [];
  const open = new Set<Readable>();
  let failure: unknown;
  let isEnded = false;
  let isStopped = false;
  let wake: () => void = () => undefined;

  const fail = (error: unknown) => {
    failure ??= error;
    for (const stream of open) stream.destroy(failure as Error);
    wake();
  };
  parser.on('part', (stream) => {
    open.add(stream);
    // Without a listener, the error of a part that nothing reads would end the process. Readers get the error as well.
    stream.on('error', () => undefined);
    stream.once('close', () => open.delete(stream));
    stream.once('header', (headers) => {
      arrived.push({ headers: headers as PartHeaders, stream });
      wake();
    });
  });
  parser.on('error', (error) => fail(malformed('The form is truncated or malformed', error)));
  parser.on('finish', () => {
    isEnded = true;
    wake();
  });

  const iterator = body[Symbol.asyncIterator]();
  const feed = async () => {
    for (;;) {
      const { done, value } = await iterator.next();
      if (isStopped || failure !== undefined) return;
      if (done) break;
      await new Promise<void>((resolve) => parser.write(value, () => resolve()));
    }
    parser.end();
  };
  feed().catch(fail);

  return {
    async next(): Promise<ArrivedPart | undefined> {
      for (;;) {
        const part = arrived.shift();
        if (part !== undefined) return part;
        if (failure !== undefined) throw failure;
        if (isEnded) return undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    /** The error to report instead of the one that a part's stream had. */
    failure: () => failure,
    stop() {
      isStopped = true;
      for (const stream of open) stream.destroy();
      void iterator.return?.();
    },
  };
}

/**
 * Reads a form part by part, with constant memory. Parts arrive in the order in which the client sent them. A part with an empty file name and
 * no bytes is left out: browsers send it for a file input with nothing chosen.
 *
 * @throws ApiError BAD_REQUEST naming the part, or PAYLOAD_TOO_LARGE
 */
export async function* readForm(req: IncomingMessage, limits: FormLimits): AsyncGenerator<FormField | FormFile> {
  const boundary = parseBoundary(req);
  const body = openBody(req, limits.maxBytes);
  if (body === undefined) throw malformed('The form is empty');
  const parsing = startParsing(body, boundary);

  async function* limitStream(name: string, stream: Readable, maxBytes: number): AsyncGenerator<Buffer> {
    let bytes = 0;
    try {
      for await (const chunk of stream) {
        bytes += (chunk as Buffer).length;
        if (bytes > maxBytes) throw tooLargeError(maxBytes, name);
        yield chunk as Buffer;
      }
    } catch (error) {
      throw error instanceof ApiError ? error : (parsing.failure() ?? error);
    }
  }

  let fields = 0;
  let files = 0;
  let emptyInputs = 0;
  let fieldBytes = 0;
  try {
    for (let index = 1; ; index++) {
      const part = await parsing.next();
      if (part === undefined) return;
      const { name, filename, type } = readPartHeaders(part.headers, index);
      if (filename === undefined) {
        fields += 1;
        if (fields > limits.maxFields) throw malformed(`The form must have at most ${limits.maxFields} fields`);
        const room = limits.maxFieldBytes - fieldBytes;
        const [value, bytes] = await readText(name, limitStream(name, part.stream, Number.POSITIVE_INFINITY), room);
        fieldBytes += bytes;
        yield { kind: 'field', name, value };
      } else {
        if (filename === '' && (await isEmptyPart(part.stream))) {
          emptyInputs += 1;
          if (emptyInputs > MAX_EMPTY_INPUTS) throw malformed('The form has too many empty file inputs');
          continue;
        }
        files += 1;
        const { maxFiles, maxFilesReason = '' } = limits;
        if (files > maxFiles) throw malformed(`The form must have at most ${maxFiles} files${maxFilesReason}`);
        const maxBytes = limits.maxFileBytes(name);
        yield { kind: 'file', field: name, name: filename, type, stream: limitStream(name, part.stream, maxBytes) };
        // Skip what the consumer has not read.
        if (!part.stream.readableEnded && !part.stream.destroyed) part.stream.resume();
      }
    }
  } finally {
    parsing.stop();
  }
}
