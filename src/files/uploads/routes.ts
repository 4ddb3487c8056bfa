import type { Request } from 'express';
import { z } from 'zod';
import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError, validationError } from '../../platform/helpers/errors.ts';
import { mediaTypeOf, openBody } from '../../platform/http/bodies/body-stream.ts';
import { parseContentDisposition } from '../../platform/http/bodies/content-disposition.ts';
import { declaresForm, readForm } from '../../platform/http/bodies/multipart.ts';
import { type FileRow, toStoredFile } from '../store/store.ts';
import { assertSizeFits } from './content.ts';
import type { FilesContext } from './context.ts';
import { completeDirect, startDirect } from './direct.ts';
import type { UploadTarget } from './targets.ts';
import { identifyUploader, type Uploader } from './uploader.ts';

const FORM_OVERHEAD_BYTES = 64 * 1024;

const uploadShape = z.object({
  id: z.string(),
  name: z.string(),
  type: z.string(),
  bytes: z.number().int(),
  token: z.string().optional().describe('Send it with the id when you set the field; only if you are not signed in.'),
});

/** The upload as the response contains it, with the token of a caller who is not signed in. */
function describeUpload(row: FileRow, token?: string): Record<string, unknown> {
  const { id, name, type, bytes, width, height } = toStoredFile(row);
  return {
    ...{ id, name, type, bytes },
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    ...(token !== undefined && { token }),
  };
}

/** The name in the `Content-Disposition` of an upload; undefined if there is none. @throws ApiError BAD_REQUEST */
function parseFileName({ headers }: Request): string | undefined {
  const header = headers['content-disposition'];
  if (header === undefined) return undefined;
  const parsed = parseContentDisposition(header);
  if (parsed === undefined)
    throw new ApiError('BAD_REQUEST', `Content-Disposition must look like attachment; filename*=UTF-8''report.pdf`);
  return parsed.filename;
}

/** Receives the file that is the body of a request. */
async function receiveRaw(
  { uploads }: FilesContext,
  target: UploadTarget,
  uploader: Uploader,
  { req }: RouteContext,
): Promise<FileRow> {
  const length = req.headers['content-length'];
  assertSizeFits(Number(length ?? 0), target.rules, target.field.name);
  // The check of the content ends a larger body, with an error that names the field.
  const body = openBody(req, Number.POSITIVE_INFINITY);
  if (body === undefined) throw validationError({ [target.field.name]: 'Must not be empty' });
  const announced = {
    name: parseFileName(req),
    type: mediaTypeOf(req.headers['content-type']),
    bytes: length === undefined ? undefined : Number(length),
  };
  return uploads.receive(target, uploader, announced, body);
}

/** Receives the only file of a form. */
async function receiveFormFile(
  { uploads }: FilesContext,
  target: UploadTarget,
  uploader: Uploader,
  { req }: RouteContext,
): Promise<FileRow> {
  const { maxBytes } = target.rules;
  const length = Number(req.headers['content-length'] ?? 0);
  if (length > maxBytes + FORM_OVERHEAD_BYTES)
    assertSizeFits(Number.POSITIVE_INFINITY, target.rules, target.field.name);
  const limits = {
    maxFields: 0,
    maxFiles: 1,
    maxFieldBytes: 0,
    maxFileBytes: () => Number.POSITIVE_INFINITY,
    maxBytes: maxBytes + FORM_OVERHEAD_BYTES,
  };
  let row: FileRow | undefined;
  for await (const part of readForm(req, limits)) {
    if (part.kind === 'field') throw new ApiError('BAD_REQUEST', `Unknown part "${part.name}"; send only the file`);
    const bytes = Number(req.headers['content-length'] ?? maxBytes);
    row = await uploads.receive(target, uploader, { name: part.name, type: part.type, bytes }, part.stream);
  }
  if (row === undefined) throw validationError({ [target.field.name]: 'Is required' });
  return row;
}

/** Creates the routes by which clients upload files, before they set a field to the upload. */
export function createUploadRoutes(context: FilesContext): Route[] {
  const { targets, hashes, settings } = context;

  async function handleUpload(ctx: RouteContext): Promise<unknown> {
    const { req, query } = ctx;
    if (query.field === undefined && mediaTypeOf(req.headers['content-type']) === 'application/json')
      return startDirect(context, ctx);
    const target = await targets.authorize(query.field, ctx);
    const uploader = identifyUploader(ctx.user, req, hashes);
    const receive = declaresForm(req) ? receiveFormFile : receiveRaw;
    return describeUpload(await receive(context, target, uploader, ctx), uploader.token);
  }

  // An upload is for a field, whose resource decides about API keys of organisations.
  const shared = { policy: 'public', tags: ['files'], organisationKeys: true } as const;
  return [
    {
      ...shared,
      method: 'POST',
      path: '/files/uploads',
      body: 'raw',
      status: 201,
      rateLimit: settings.files.uploadLimit,
      queryShape: z.object({
        field: z.string().describe('The field that the file is for: `<resource>.<field>`.').optional(),
      }),
      output: uploadShape,
      errors: [
        ...(['FORBIDDEN', 'LIMIT_REACHED', 'PAYLOAD_TOO_LARGE', 'UNSUPPORTED_MEDIA_TYPE'] as const),
        ...(['VALIDATION_ERROR', 'STORAGE_FULL', 'INVALID_JSON'] as const),
      ],
      operationId: 'uploadFile',
      summary: 'Upload a file',
      description:
        'The body is the file itself, with its name in `Content-Disposition`, or a form with one file. Then set the field of a record to the `id`. With a JSON body `{ field, name, type, bytes, direct: true }` and without the parameter `field`, the response has the URL for a direct upload to the storage.',
      handler: handleUpload,
    },
    {
      ...shared,
      method: 'POST',
      path: '/files/uploads/:id/complete',
      body: 'raw',
      queryShape: z.object({ token: z.string().optional() }),
      output: uploadShape,
      errors: ['FORBIDDEN', 'VALIDATION_ERROR'],
      operationId: 'completeUpload',
      summary: 'Complete a direct upload',
      handler: async (ctx) => describeUpload(await completeDirect(context, ctx)),
    },
  ];
}
