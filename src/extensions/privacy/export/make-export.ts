import {
  createLeasedJob,
  createLeaseRenewals,
  createWorkLogger,
  type Host,
  LeaseLostError,
  type ResourceGateway,
  type StoredRecord,
} from '../../../extension/index.ts';
import type { ExportFile } from './export-file.ts';
import {
  createFileEntry,
  createManifestEntry,
  createStoredFileEntries,
  type StoredFilesResult,
} from './export-file.ts';
import { EXPORT_MAIL } from './links.ts';
import type { ClaimedExport, ExportStore } from './store.ts';
import { splitIntoChunks, streamZip } from './zip.ts';

const CHUNK_BYTES = 256 * 1024;
const RENEW_EVERY_MS = 8000;

/** Whether a user's data may be exported: the user exists and is not being erased. */
export function isExportable(user: StoredRecord | undefined): user is StoredRecord {
  return user !== undefined && user.status !== 'deleting';
}

/** Dependencies of the job that builds an export. */
interface ExportJobDependencies {
  exports: ExportStore;
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
export function createExportJob(
  host: Pick<Host, 'files' | 'log' | 'mail' | 'metrics' | 'settings' | 'database' | 'replica'>,
  { exports, users, files, hours }: ExportJobDependencies,
): (id: string) => Promise<void> {
  const { log, mail, metrics, settings, database, replica } = host;

  async function buildExport(attempt: ClaimedExport, leaseLost: AbortSignal) {
    const { userId, createdAt } = attempt;
    const [user] = await users.load([userId]);
    if (!isExportable(user)) throw new LeaseLostError('the user was deleted or is being erased');
    // Postgres may cancel a long read on a replica, so another attempt reads from the primary.
    const source = attempt.attempt === 1 ? await replica?.waitForReplicaOrUsePrimary() : undefined;
    const entries = files.map((file) => createFileEntry(file, user, source ?? database));
    const countRecords = () => entries.reduce((sum, { written }) => sum + written.records, 0);
    const stored: StoredFilesResult = { included: 0, leftOut: [] };
    const manifest = createManifestEntry({ user: userId, requestedAt: createdAt }, entries, stored);
    // Which files to add is known only after the records have been read.
    function* allEntries() {
      yield* entries;
      yield* createStoredFileEntries(entries, host.files, stored);
      yield manifest;
    }
    let [position, bytes] = [0, 0];
    for await (const chunk of splitIntoChunks(streamZip(allEntries(), new Date()), CHUNK_BYTES)) {
      leaseLost.throwIfAborted();
      await attempt.storeChunk(chunk, position, countRecords());
      position += 1;
      bytes += chunk.length;
    }
    await attempt.finish({ records: countRecords(), bytes, hours }, (within) =>
      mail.sendComposed(EXPORT_MAIL, { export: attempt.id }, within),
    );
    return { outcome: 'ready', records: countRecords(), bytes };
  }

  const job = createLeasedJob<ClaimedExport>(
    {
      unit: 'export',
      database,
      claim: exports.claim,
      renewals: createLeaseRenewals({ everyMs: RENEW_EVERY_MS, what: 'exports', log, database, renew: exports.renew }),
      run: buildExport,
      fail: async (attempt) => ({ outcome: (await attempt.fail()) ? 'failed' : 'retry' }),
      describe: ({ id, userId, attempt }) => ({ export: id, user: userId, attempt }),
    },
    createWorkLogger({ log, settings, metrics }),
  );
  return async (id) => {
    const result = await job(id);
    if (result?.outcome === 'retry') throw new Error('Could not create the export; it will be retried');
  };
}
