import type { Host, ResourceGateway, StoredRecord } from '../../../declare/host.ts';
import { createLeasedJob } from '../../../platform/leased-work/job.ts';
import { createLeaseRenewals, LeaseLostError } from '../../../platform/leased-work/lease.ts';
import { createLogWork } from '../../../platform/observability/log-work.ts';
import type { ExportFile } from './export-file.ts';
import { entryOf, manifestEntry } from './export-file.ts';
import { EXPORT_MAIL } from './links.ts';
import type { Attempt, Exports } from './store.ts';
import { inPieces, zipped } from './zip.ts';

const PIECE_BYTES = 256 * 1024;
const RENEW_MS = 8000;

/** Whether a user's data may be exported: the user exists and is not being erased. */
export function isExportable(user: StoredRecord | undefined): user is StoredRecord {
  return user !== undefined && user.status !== 'deleting';
}

/** Dependencies of the job. */
interface MakeExportParts {
  exports: Exports;
  users: ResourceGateway;
  /** The files of every export. */
  files: readonly ExportFile[];
  /** Hours for which an export is kept. */
  hours: number;
}

/**
 * Creates the job that builds an export. It reads, compresses, encrypts and stores in batches, so that memory holds only a few batches,
 * regardless of the amount of data. A failed attempt rejects, so that the queue retries it until the export has failed for good.
 */
export function createMakeExport(
  { log, mail, settings }: Pick<Host, 'log' | 'mail' | 'settings'>,
  { exports, users, files, hours }: MakeExportParts,
): (id: string) => Promise<void> {
  async function make(attempt: Attempt, lost: AbortSignal) {
    const { userId, createdAt } = attempt;
    const [user] = await users.load([userId]);
    if (!isExportable(user)) throw new LeaseLostError('its user is gone');
    const entries = files.map((file) => entryOf(file, user));
    const records = () => entries.reduce((sum, { written }) => sum + written.records, 0);
    const manifest = manifestEntry({ user: userId, requestedAt: createdAt }, entries);
    let [position, bytes] = [0, 0];
    for await (const piece of inPieces(zipped([...entries, manifest], new Date()), PIECE_BYTES)) {
      lost.throwIfAborted();
      await attempt.put(piece, position, records());
      position += 1;
      bytes += piece.length;
    }
    await attempt.finish({ records: records(), bytes, hours }, (within) =>
      mail.sendComposed(EXPORT_MAIL, { export: attempt.id }, within),
    );
    return { outcome: 'ready', records: records(), bytes };
  }

  const job = createLeasedJob<Attempt>(
    {
      unit: 'export',
      claim: exports.claim,
      renewals: createLeaseRenewals({ everyMs: RENEW_MS, what: 'exports', log, renew: exports.renew }),
      run: make,
      fail: async (attempt) => ({ outcome: (await attempt.fail()) ? 'failed' : 'retry' }),
      describe: ({ id, userId, attempt }) => ({ export: id, user: userId, attempt }),
    },
    createLogWork({ log, settings }),
  );
  return async (id) => {
    const result = await job(id);
    if (result?.outcome === 'retry') throw new Error('an attempt to make the export failed; it will be tried again');
  };
}
