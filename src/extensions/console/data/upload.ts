import type { Readable } from 'node:stream';
import { z } from 'zod';
import {
  ApiError,
  type BinaryBody,
  type Fields,
  findFileRules,
  mediaTypeOf,
  type RouteContext,
  validationError,
} from '../../../extension/index.ts';
import type { DataContext } from './context.ts';

/** The bytes of a file. The rules of the field limit them. */
export const UPLOAD_BODY: BinaryBody = { kind: 'binary', maxBytes: Number.MAX_SAFE_INTEGER };

/** The query parameters of an upload. */
export const uploadQuery = z.strictObject({
  name: z
    .string({ error: 'Must be the name of the file' })
    .max(1000, { error: 'Must have at most 1000 characters' })
    .default('file'),
});

/**
 * Handles `POST /records/:resource/files/:field`: stores a file for a field, to which no record refers yet. The audit trail records that before
 * the bytes are read.
 */
export async function uploadFile(data: DataContext, { params, query, body, req }: RouteContext): Promise<unknown> {
  const { host } = data;
  const { name: resource, declaration } = data.gateway(params.resource);
  const field = params.field!;
  const fields = declaration.fields as Fields;
  const spec = Object.hasOwn(fields, field) ? fields[field]!.spec : undefined;
  if (spec === undefined || findFileRules(spec) === undefined)
    throw new ApiError('NOT_FOUND', 'There is no such file field');
  if (body === undefined) throw validationError({ [field]: 'Must not be empty' });
  const { name } = query as unknown as z.output<typeof uploadQuery>;
  await host
    .auditTrail()
    ?.add({ action: 'console.uploaded', resource, record: null, details: { field } }, req, host.database);
  const type = mediaTypeOf(req.headers['content-type']);
  return host.files.store(body as Readable, { name, ...(type && { type }), field: `${resource}.${field}` });
}
