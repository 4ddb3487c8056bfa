import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Host, ResourceGateway } from '../../../declare/host.ts';
import type { RouteContext } from '../../../declare/route.ts';
import { ApiError } from '../../../platform/errors.ts';
import { addressOf } from '../../../platform/http/client-address.ts';
import { mayFetch } from './links.ts';
import { isToken } from './seal.ts';
import type { Export, Exports } from './store.ts';

/** Creates the handler that serves the file of a link. The link alone authorizes the download. */
export function createDownloadHandler(
  { events, log }: Pick<Host, 'events' | 'log'>,
  { exports, users }: { exports: Exports; users: ResourceGateway },
) {
  async function* rest(one: Export, first: Buffer): AsyncGenerator<Buffer> {
    yield first;
    let left = one.bytes! - first.length;
    for (let position = 1; left > 0; position++) {
      const piece = await exports.piece(one, position);
      if (piece === undefined) throw new Error('the export was removed');
      left -= piece.length;
      yield piece;
    }
  }

  return async ({ req, res, params }: RouteContext): Promise<void> => {
    const { token } = params;
    const one = isToken(token) ? await exports.find(token) : undefined;
    if (one === undefined || (await mayFetch(one, users)) === undefined) throw new ApiError('NOT_FOUND');
    const first = await exports.piece(one, 0);
    if (first === undefined) throw new ApiError('NOT_FOUND');
    res.setHeader('Content-Type', 'application/zip');
    res.setHeader('Content-Length', one.bytes!);
    res.setHeader('Content-Disposition', `attachment; filename="export-${one.finishedAt!.slice(0, 10)}.zip"`);
    res.setHeader('Cache-Control', 'private, no-store');
    // The URL grants access to the file, so it must not leak to other sites.
    res.setHeader('Referrer-Policy', 'no-referrer');
    if (req.method === 'HEAD') {
      res.end();
      return;
    }
    events.emit('security.export_fetched', { userId: one.userId, by: one.requestedBy, ip: addressOf(req) });
    try {
      await pipeline(Readable.from(rest(one, first), { objectMode: false }), res);
    } catch (error) {
      // A client that disconnected, or was cut off, can tell from the Content-Length that the file is incomplete.
      log.info({ err: error, export: one.id }, 'an export was not fetched to its end');
      res.destroy();
    }
  };
}
