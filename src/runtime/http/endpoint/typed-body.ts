import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type {
  BinaryBody,
  FormFileRules,
  MultipartBody,
  MultipartContent,
  ReceivedFile,
} from '../../../declare/body.ts';
import type { Route } from '../../../declare/route.ts';
import { ApiError, validationError } from '../../../platform/helpers/errors.ts';
import type { StandardSchema } from '../../../platform/helpers/standard-schema.ts';
import { matchesMediaType, openBinaryBody, unsupportedTypeError } from '../../../platform/http/bodies/body-stream.ts';
import {
  declaresForm,
  type FormField,
  type FormFile,
  type FormLimits,
  readForm,
} from '../../../platform/http/bodies/multipart.ts';
import { validateBody } from './input.ts';

/** Bytes of the headers and boundaries of a part, in the limit of a whole form. */
const PART_OVERHEAD_BYTES = 1024;

/** The limits of JSON bodies, which also apply to the text fields of forms. */
interface BodyBounds {
  bodyLimit: number;
  bodyKeys: number;
}

/** The declared body of a route whose body is streamed; undefined for other routes. */
export function getStreamedBody({ body }: Route): BinaryBody | MultipartBody | undefined {
  return typeof body === 'object' ? body : undefined;
}

/**
 * Opens the body of a route that streams it.
 *
 * @throws ApiError UNSUPPORTED_MEDIA_TYPE, PAYLOAD_TOO_LARGE, or BAD_REQUEST and VALIDATION_ERROR for the text fields of a form
 */
export async function openStreamedBody(
  req: IncomingMessage,
  body: BinaryBody | MultipartBody,
  bounds: BodyBounds,
): Promise<Readable | MultipartContent> {
  return body.kind === 'binary' ? openBinaryBody(req, body) : openFormBody(req, body, bounds);
}

function createFormLimits({ files, maxFiles }: MultipartBody, { bodyLimit, bodyKeys }: BodyBounds): FormLimits {
  const rules = Object.values(files);
  const count = maxFiles ?? rules.length;
  const largest = Math.max(0, ...rules.map(({ maxBytes }) => maxBytes));
  return {
    maxFields: bodyKeys,
    maxFiles: count,
    maxFieldBytes: bodyLimit,
    maxFileBytes: (field) => toFileRules(files, field).maxBytes,
    maxBytes: bodyLimit + count * largest + (bodyKeys + count) * PART_OVERHEAD_BYTES,
  };
}

function toFileRules(files: MultipartBody['files'], field: string): FormFileRules {
  const rules = Object.hasOwn(files, field) ? files[field] : undefined;
  if (rules === undefined) throw validationError({ [field]: 'Must not be a file' });
  return rules;
}

/** Adds a text field. A field that is sent more than once becomes a list. */
function addField(fields: Record<string, unknown>, { name, value }: FormField): void {
  const known = fields[name];
  fields[name] = known === undefined ? value : Array.isArray(known) ? [...known, value] : [known, value];
}

function validateFields(
  schema: StandardSchema | undefined,
  fields: object,
  maxKeys: number,
): Promise<unknown> | object {
  if (schema !== undefined) return validateBody(schema, { ...fields }, maxKeys);
  const unknown = Object.keys(fields).map((name) => [name, 'Unknown field'] as const);
  if (unknown.length > 0) throw validationError(Object.fromEntries(unknown));
  return {};
}

/** Reads and checks the text fields, up to the first file. */
async function openFormBody(req: IncomingMessage, body: MultipartBody, bounds: BodyBounds): Promise<MultipartContent> {
  if (!declaresForm(req)) throw unsupportedTypeError(['multipart/form-data']);
  const parts = readForm(req, createFormLimits(body, bounds));
  const fields: Record<string, unknown> = Object.create(null);
  let first: FormFile | undefined;
  for (;;) {
    const { value: part } = await parts.next();
    if (part?.kind === 'file') first = part;
    if (part?.kind !== 'field') break;
    addField(fields, part);
  }
  try {
    const checked = await validateFields(body.fields, fields, bounds.bodyKeys);
    return { fields: checked, files: readFiles(first, parts, body) };
  } catch (error) {
    await parts.return(undefined);
    throw error;
  }
}

async function* readFiles(
  first: FormFile | undefined,
  parts: AsyncGenerator<FormField | FormFile>,
  { files }: MultipartBody,
): AsyncGenerator<ReceivedFile> {
  const received = new Set<string>();
  try {
    let part: FormField | FormFile | undefined = first;
    while (part !== undefined) {
      if (part.kind === 'field')
        throw new ApiError('BAD_REQUEST', `Send the field "${part.name}" before the files of the form`);
      const { field, name, type } = part;
      const { types = ['*/*'] } = toFileRules(files, field);
      if (!matchesMediaType(type, types)) throw unsupportedTypeError(types, field);
      received.add(field);
      yield { field, name, type, stream: Readable.from(part.stream, { objectMode: false }) };
      part = (await parts.next()).value ?? undefined;
    }
    const missing = Object.keys(files).filter((field) => files[field]!.required && !received.has(field));
    if (missing.length > 0) throw validationError(Object.fromEntries(missing.map((field) => [field, 'Is required'])));
  } finally {
    await parts.return(undefined);
  }
}
