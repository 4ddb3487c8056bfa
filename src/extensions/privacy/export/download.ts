import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { ApiError, addressOf, type Host, type ResourceGateway, type RouteContext } from '../../../extension/index.ts';
import { findAllowedRequester } from './links.ts';
import { isExportToken } from './seal.ts';
import type { Export, ExportStore } from './store.ts';

/** Creates the handler that serves the file of a link. The link alone authorizes the download. */
export function createDownloadHandler(
  { events, log }: Pick<Host, 'events' | 'log'>,
  { exports, users }: { exports: ExportStore; users: ResourceGateway },
) {
  async function* readChunks(dataExport: Export, first: Buffer): AsyncGenerator<Buffer> {
    yield first;
    let remainingBytes = dataExport.bytes! - first.length;
    for (let position = 1; remainingBytes > 0; position++) {
      const chunk = await exports.readChunk(dataExport, position);
      if (chunk === undefined) throw new Error('the export was removed');
      remainingBytes -= chunk.length;
      yield chunk;
    }
  }

  return async ({ req, res, params }: RouteContext): Promise<void> => {
    const { token } = params;
    const dataExport = isExportToken(token) ? await exports.findByToken(token) : undefined;
    if (dataExport === undefined || (await findAllowedRequester(dataExport, users)) === undefined)
      throw new ApiError('NOT_FOUND');
    const first = await exports.readChunk(dataExport, 0);
    if (first === undefined) throw new ApiError('NOT_FOUND');
    res.setHeader('Content-Type', 'application/zip');
    res.setHeader('Content-Length', dataExport.bytes!);
    res.setHeader('Content-Disposition', `attachment; filename="export-${dataExport.finishedAt!.slice(0, 10)}.zip"`);
    res.setHeader('Cache-Control', 'private, no-store');
    // The URL grants access to the file, so it must not leak to other sites.
    res.setHeader('Referrer-Policy', 'no-referrer');
    if (req.method === 'HEAD') {
      res.end();
      return;
    }
    events.emit('security.export_fetched', {
      userId: dataExport.userId,
      by: dataExport.requestedBy,
      ip: addressOf(req),
    });
    try {
      await pipeline(Readable.from(readChunks(dataExport, first), { objectMode: false }), res);
    } catch (error) {
      // A client that disconnected, or was cut off, can tell from the Content-Length that the file is incomplete.
      log.info({ err: error, export: dataExport.id }, 'An export download was not completed');
      res.destroy();
    }
  };
}
