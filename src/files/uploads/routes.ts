import type { Request } from 'express';
import { z } from 'zod';
import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError, validationError } from '../../platform/helpers/errors.ts';
import { mediaTypeOf, openBody } from '../../platform/http/bodies/body-stream.ts';
import { parseContentDisposition } from '../../platform/http/bodies/content-disposition.ts';
import { declaresForm, readForm } from '../../platform/http/bodies/multipart.ts';
import { readJsonBody } from '../../platform/http/json-body.ts';
import { DIRECT_UPLOAD_MS, type FileRow, metadataOf } from '../store/store.ts';
import { assertSizeFits } from './content.ts';
import type { FilesContext } from './context.ts';
import type { UploadTarget } from './targets.ts';
import { presentedTokenHash, type Uploader, uploaderOf } from './uploader.ts';
import { ownsUpload, toUploadError } from './uploads.ts';

const FORM_OVERHEAD_BYTES = 64 * 1024;

const uploadShape = z.object({
  id: z.string(),
  name: z.string(),
  type: z.string(),
  bytes: z.number().int(),
  token: z.string().optional().describe('Send it with the id when you set the field; only if you are not signed in.'),
});

const directRequest = z.strictObject({
  field: z.string({ error: 'Must be <resource>.<field>' }),
  name: z.string({ error: 'Must be a string' }).max(1000, { error: 'Must be at most 1000 characters' }),
  type: z.string({ error: 'Must be a media type' }).max(200, { error: 'Must be at most 200 characters' }),
  bytes: z.int({ error: 'Must be a whole number' }).min(1, { error: 'Must be at least 1' }),
  sha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, { error: 'Must be a SHA-256 in hex' })
    .optional(),
  direct: z.literal(true, { error: 'Must be true' }),
});

/** The upload as the response contains it, with the token of a caller who is not signed in. */
function describeUpload(row: FileRow, { token }: Pick<Uploader, 'token'>): Record<string, unknown> {
  const { id, name, type, bytes, width, height } = metadataOf(row);
  return {
    ...{ id, name, type, bytes },
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    ...(token !== undefined && { token }),
  };
}

/** The name in the `Content-Disposition` of an upload; undefined if there is none. @throws ApiError BAD_REQUEST */
function fileNameOf({ headers }: Request): string | undefined {
  const header = headers['content-disposition'];
  if (header === undefined) return undefined;
  const parsed = parseContentDisposition(header);
  if (parsed === undefined)
    throw new ApiError('BAD_REQUEST', `Content-Disposition must look like attachment; filename*=UTF-8''report.pdf`);
  return parsed.filename;
}

/** Creates the routes by which clients upload files, before they set a field to the upload. */
export function createUploadRoutes(context: FilesContext): Route[] {
  const { uploads, targets, store, storage, hashes, settings, log } = context;

  async function receiveRaw(target: UploadTarget, uploader: Uploader, { req }: RouteContext): Promise<FileRow> {
    const length = req.headers['content-length'];
    assertSizeFits(Number(length ?? 0), target.rules, target.field.name);
    // The check of the content ends a larger body, with an error that names the field.
    const body = openBody(req, Number.POSITIVE_INFINITY);
    if (body === undefined) throw validationError({ [target.field.name]: 'Must not be empty' });
    const announced = {
      name: fileNameOf(req),
      type: mediaTypeOf(req.headers['content-type']),
      bytes: length === undefined ? undefined : Number(length),
    };
    return uploads.receive(target, uploader, announced, body);
  }

  async function receiveFormFile(target: UploadTarget, uploader: Uploader, { req }: RouteContext): Promise<FileRow> {
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

  async function startDirect(ctx: RouteContext): Promise<unknown> {
    const body = await readJsonBody(ctx.req, { ...settings.http, countsRoot: true });
    const parsed = directRequest.safeParse(body ?? {});
    if (!parsed.success)
      throw validationError(
        Object.fromEntries(parsed.error.issues.map((issue) => [issue.path.join('.') || 'body', issue.message])),
      );
    const { field, name, type, bytes, sha256 } = parsed.data;
    const target = await targets.authorize(field, ctx);
    if (storage.signUpload === undefined)
      throw new ApiError('BAD_REQUEST', 'The storage of this app does not accept direct uploads; send the file here');
    const uploader = uploaderOf(ctx.user, ctx.req, hashes);
    const announced = { name, type: mediaTypeOf(type) || 'application/octet-stream', bytes };
    const { id, storageKey, name: cleaned } = await uploads.start(target, uploader, announced, false);
    // A URL that outlived its upload would be of no use.
    const expiresInMs = Math.min(DIRECT_UPLOAD_MS, settings.files.pendingTtl);
    const options = { bytes, type: announced.type, expiresInMs, ...(sha256 !== undefined && { sha256 }) };
    const signed = await storage.signUpload(storageKey, options).catch((error: unknown) => {
      throw toUploadError(error, log);
    });
    const expiresAt = new Date(Date.now() + expiresInMs).toISOString();
    const { token } = uploader;
    return { id, name: cleaned, ...(token !== undefined && { token }), upload: { ...signed, expiresAt } };
  }

  async function handleUpload(ctx: RouteContext): Promise<unknown> {
    const { req, query } = ctx;
    if (query.field === undefined && mediaTypeOf(req.headers['content-type']) === 'application/json')
      return startDirect(ctx);
    const target = await targets.authorize(query.field, ctx);
    const uploader = uploaderOf(ctx.user, req, hashes);
    const receive = declaresForm(req) ? receiveFormFile : receiveRaw;
    return describeUpload(await receive(target, uploader, ctx), uploader);
  }

  async function completeDirect(ctx: RouteContext): Promise<unknown> {
    const { user, params, query } = ctx;
    const [row] = await store.find([params.id!]);
    const isMine = row !== undefined && ownsUpload(row, user, presentedTokenHash(query.token));
    if (!isMine || !targets.isReachable(row.resource, user)) throw new ApiError('NOT_FOUND');
    if (row.state === 'pending') return describeUpload(row, { token: undefined });
    const isDirect = row.receivedBytes === null;
    if (row.state !== 'receiving' || !isDirect) throw new ApiError('NOT_FOUND');
    const target = await targets.authorize(`${row.resource}.${row.field}`, ctx);
    const stored = await storage.stat(row.storageKey).catch((error: unknown) => {
      throw toUploadError(error, log);
    });
    if (stored === undefined) throw new ApiError('BAD_REQUEST', 'The file has not been uploaded yet');
    if (stored.bytes !== row.bytes) {
      await store.discard([row.id]);
      throw validationError({ bytes: `The file has ${stored.bytes} bytes instead of ${row.bytes}` });
    }
    return describeUpload(await uploads.finishDirect(target, row, stored.bytes), { token: undefined });
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
      handler: completeDirect,
    },
  ];
}
