import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError, validationError } from '../../platform/helpers/errors.ts';
import { mediaTypeOf } from '../../platform/http/bodies/body-stream.ts';
import type { FileRow } from '../store/store.ts';
import { type FilesContext, findOwnUpload } from './context.ts';
import { assertPartFits, carriesPart, createPartReceiver, offsetOf } from './parts.ts';
import { describeServer, parseMetadata, readCount, setExpiry, startResponse } from './tus-headers.ts';
import { identifyUploader } from './uploader.ts';

/** @throws ApiError NOT_FOUND unless it is a resumable upload of the caller */
async function findUpload(context: FilesContext, ctx: RouteContext): Promise<FileRow> {
  const row = await findOwnUpload(context, ctx);
  const isResumable = row.state === 'pending' || (row.state === 'receiving' && row.receivedBytes !== null);
  if (!isResumable) throw new ApiError('NOT_FOUND');
  return row;
}

/** Creates the handlers of the requests of the protocol. */
function createHandlers(context: FilesContext) {
  const { uploads, targets, store, hashes, settings } = context;
  const parts = createPartReceiver(context);
  return {
    async create(ctx: RouteContext): Promise<void> {
      const { req, res, user, query } = ctx;
      startResponse(ctx);
      const header = String(req.headers['upload-metadata'] ?? '');
      const metadata = parseMetadata(header);
      const target = await targets.authorize(metadata.get('field') ?? query.field, ctx);
      if (req.headers['upload-defer-length'] !== undefined)
        throw new ApiError('BAD_REQUEST', 'Upload-Defer-Length is not supported; send Upload-Length');
      const bytes = readCount(req, 'upload-length');
      if (bytes === 0) throw validationError({ [target.field.name]: 'Must not be empty' });
      const hasPart = carriesPart(req, false);
      if (hasPart) assertPartFits(req, bytes);
      const uploader = identifyUploader(user, req, hashes);
      const type = mediaTypeOf(metadata.get('filetype') ?? metadata.get('type'));
      const announced = { name: metadata.get('filename') ?? metadata.get('name'), type, bytes, uploadMetadata: header };
      const { id } = await uploads.start(target, uploader, announced, true);
      const token = uploader.token === undefined ? '' : `?token=${uploader.token}`;
      if (hasPart) {
        const [row] = await store.find([id]);
        if (row !== undefined) await parts.receive(ctx, row, 0);
      }
      res.setHeader('Location', `/api/files/resumable/${id}${token}`);
      const expires = Date.now() + settings.files.pendingTtl;
      setExpiry(res, { dueAt: new Date(expires).toISOString() });
      res.status(201).end();
    },

    async readProgress(ctx: RouteContext): Promise<void> {
      const { res } = ctx;
      startResponse(ctx);
      const row = await parts.finishIfComplete(ctx, await findUpload(context, ctx));
      res.setHeader('Upload-Offset', offsetOf(row));
      res.setHeader('Upload-Length', row.bytes);
      if (row.uploadMetadata) res.setHeader('Upload-Metadata', row.uploadMetadata);
      setExpiry(res, row);
      res.status(200).end();
    },

    async append(ctx: RouteContext): Promise<void> {
      startResponse(ctx);
      carriesPart(ctx.req, true);
      await parts.receive(ctx, await findUpload(context, ctx), readCount(ctx.req, 'upload-offset'));
      ctx.res.status(204).end();
    },

    async terminate(ctx: RouteContext): Promise<void> {
      startResponse(ctx);
      const row = await findUpload(context, ctx);
      await store.discard([row.id]);
      ctx.res.status(204).end();
    },
  };
}

/** Creates the routes of resumable uploads: the tus protocol 1.0 with the extensions creation, expiration and termination. */
export function createResumableRoutes(context: FilesContext): Route[] {
  const { create, readProgress, append, terminate } = createHandlers(context);
  const item = '/files/resumable/:id';
  const shared = {
    policy: 'public',
    body: 'raw',
    tags: ['files'],
    hidden: true,
    organisationKeys: true,
    optionsHeaders: describeServer(context.targets.largestFile),
  } as const;
  return [
    {
      ...shared,
      method: 'POST',
      path: '/files/resumable',
      rateLimit: context.settings.files.uploadLimit,
      handler: create,
    },
    { ...shared, method: 'GET', path: item, handler: readProgress },
    { ...shared, method: 'PATCH', path: item, handler: append },
    { ...shared, method: 'DELETE', path: item, handler: terminate },
  ];
}
