import { z } from 'zod';
import type { RouteContext } from '../../declare/route.ts';
import { ApiError, validationError } from '../../platform/helpers/errors.ts';
import { mediaTypeOf } from '../../platform/http/bodies/body-stream.ts';
import { readJsonBody } from '../../platform/http/json-body.ts';
import { DIRECT_UPLOAD_MS, type FileRow } from '../store/store.ts';
import { type FilesContext, findOwnUpload } from './context.ts';
import { identifyUploader } from './uploader.ts';
import { fromStorage } from './uploads.ts';

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

/** Inserts an upload, and returns the signed request by which the client sends the file. */
export async function startDirect(context: FilesContext, ctx: RouteContext): Promise<unknown> {
  const { uploads, targets, storage, hashes, settings, log } = context;
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
  const uploader = identifyUploader(ctx.user, ctx.req, hashes);
  const announced = { name, type: mediaTypeOf(type) || 'application/octet-stream', bytes };
  const { id, storageKey, name: cleaned } = await uploads.start(target, uploader, announced, false);
  // A URL that outlived its upload would be of no use.
  const expiresInMs = Math.min(DIRECT_UPLOAD_MS, settings.files.pendingTtl);
  const options = { bytes, type: announced.type, expiresInMs, ...(sha256 !== undefined && { sha256 }) };
  const signed = await fromStorage(storage.signUpload(storageKey, options), log);
  const expiresAt = new Date(Date.now() + expiresInMs).toISOString();
  const { token } = uploader;
  return { id, name: cleaned, ...(token !== undefined && { token }), upload: { ...signed, expiresAt } };
}

/** Checks the file that the client has sent, and makes the upload pending. Returns a pending upload of any kind as it is. */
export async function completeDirect(context: FilesContext, ctx: RouteContext): Promise<FileRow> {
  const { uploads, targets, store, storage, log } = context;
  const row = await findOwnUpload(context, ctx);
  if (row.state === 'pending') return row;
  const isDirect = row.receivedBytes === null;
  if (row.state !== 'receiving' || !isDirect) throw new ApiError('NOT_FOUND');
  const target = await targets.authorize(`${row.resource}.${row.field}`, ctx);
  const stored = await fromStorage(storage.stat(row.storageKey), log);
  if (stored === undefined) throw new ApiError('BAD_REQUEST', 'The file has not been uploaded yet');
  if (stored.bytes !== row.bytes) {
    await store.discard([row.id]);
    throw validationError({ bytes: `The file has ${stored.bytes} bytes instead of ${row.bytes}` });
  }
  return uploads.finishDirect(target, row, stored.bytes);
}
