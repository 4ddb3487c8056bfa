import type { Host, ResourceGateway, StoredRecord } from '../../../declare/host.ts';
import type { ExportFile } from './export-file.ts';
import { EXPORT_MAIL } from './mail.ts';
import type { Attempt, Exports } from './store.ts';
import { entryOf, manifestEntry } from './write-file.ts';
import { inPieces, zipped } from './zip.ts';

const PIECE_BYTES = 256 * 1024;
const RENEW_MS = 8000;

/** The export is another worker's by now, or gone: nothing is left to do. */
class LostError extends Error {
  override readonly name = 'LostError';
}

/** Whether a user's data may be exported: they are there, and not being erased. */
export function isExportable(user: StoredRecord | undefined): user is StoredRecord {
  return user !== undefined && user.status !== 'deleting';
}

/**
 * Makes an export: reads, packs, encrypts and stores as it goes, so that memory holds a few batches, however much there is.
 *
 * @param files of all exports
 */
export function createMakeExport(
  { log, mail }: Pick<Host, 'log' | 'mail'>,
  {
    exports,
    users,
    files,
    hours,
  }: { exports: Exports; users: ResourceGateway; files: readonly ExportFile[]; hours: number },
) {
  async function make(attempt: Attempt, isLost: () => boolean): Promise<void> {
    const { userId, createdAt } = attempt;
    const [user] = await users.load([userId]);
    if (!isExportable(user)) throw new LostError('its user is gone');
    const entries = files.map((file) => entryOf(file, user));
    const records = () => entries.reduce((sum, { written }) => sum + written.records, 0);
    const manifest = manifestEntry({ user: userId, requestedAt: createdAt }, entries);
    let [position, bytes] = [0, 0];
    for await (const piece of inPieces(zipped([...entries, manifest], new Date()), PIECE_BYTES)) {
      if (isLost() || !(await attempt.put(piece, position, records()))) throw new LostError('it was taken over');
      position += 1;
      bytes += piece.length;
    }
    const finished = await attempt.finish({ records: records(), bytes, hours }, (within) =>
      mail.sendComposed(EXPORT_MAIL, { export: attempt.id }, within),
    );
    if (!finished) throw new LostError('it was taken over');
    log.info({ export: attempt.id, user: userId, records: records(), bytes }, 'an export of personal data is ready');
  }

  /** The job. It may run twice: whoever claims the export makes it. */
  return async (id: string): Promise<void> => {
    const attempt = await exports.claim(id);
    if (attempt === undefined) return;
    let lost = false;
    const renewal = setInterval(() => {
      attempt.renew().then(
        (mine) => {
          lost ||= !mine;
        },
        (error) => log.warn({ err: error, export: id }, 'the lease of an export was not renewed'),
      );
    }, RENEW_MS);
    try {
      await make(attempt, () => lost);
    } catch (error) {
      if (error instanceof LostError) {
        log.info({ export: id, why: error.message }, 'an export was given up');
        return;
      }
      if (!(await attempt.fail())) throw error;
      log.error({ err: error, export: id }, 'an export of personal data failed for good');
    } finally {
      clearInterval(renewal);
    }
  };
}
