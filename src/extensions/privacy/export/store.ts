import {
  type Executor,
  type Host,
  hashToken,
  LeaseLostError,
  type MailTransaction,
  newId,
  renewLeases,
} from '../../../extension/index.ts';
import { createExportCipher, type ExportCipher, generateExportSecret } from './seal.ts';
import {
  CLAIM_EXPORT,
  type ExportRow,
  FIND_BY_TOKEN,
  INSERT_EXPORT,
  LEASES,
  MARK_EXPORT_READY,
  READ_CHUNK,
  REMOVE_CHUNKS,
  REMOVE_EXPIRED_OF,
  REMOVE_EXPORT,
  SELECT_EXPORT,
  SELECT_EXPORT_BY_ID,
  SELECT_OVERDUE_EXPORTS,
  STORE_CHUNK,
  STORE_FAILED_ATTEMPT,
} from './sql.ts';

/** A stored export. */
export interface Export {
  id: string;
  userId: string;
  requestedBy: string;
  status: ExportRow[3];
  records: number;
  bytes: number | null;
  createdAt: string;
  finishedAt: string | null;
  expiresAt: string | null;
  /** The token of the link, and the encryption of the chunks. */
  seal: ExportCipher;
}

/** An export that this worker has claimed. Its writes throw a LeaseLostError if another worker has claimed the export or it was deleted. */
export interface ClaimedExport extends Export {
  /** The number of the claim, starting at 1. */
  attempt: number;
  /** Stores the next chunk of the file and renews the lease. */
  storeChunk(data: Buffer, position: number, records: number): Promise<void>;
  /** Marks the export as ready. @param then runs in the same transaction */
  finish(
    size: { records: number; bytes: number; hours: number },
    then: (within: MailTransaction) => Promise<unknown>,
  ): Promise<void>;
  /** Stores that this attempt failed. Returns whether it was the last attempt, so that the export has failed. */
  fail(): Promise<boolean>;
}

/** The store of exports. */
export interface ExportStore {
  /** Reads the requester's export of a user, unless it has expired. */
  read(userId: string, requestedBy: string): Promise<Export | undefined>;
  /**
   * Stores a new, waiting export. Returns undefined if the requester already has an export of this user.
   *
   * @param hold runs first in the transaction that stores the export
   */
  create(userId: string, requestedBy: string, hold: (tx: Executor) => Promise<void>): Promise<Export | undefined>;
  remove(userId: string, requestedBy: string): Promise<void>;
  readById(id: string): Promise<Export | undefined>;
  /** Finds the export that is ready to download under the token of a link. */
  findByToken(token: string): Promise<Export | undefined>;
  /** Reads and decrypts a chunk of the file; undefined after the last one. */
  readChunk(dataExport: Export, position: number): Promise<Buffer | undefined>;
  /** Claims an export and removes chunks of earlier attempts. Undefined if it is finished, deleted or held by another worker. */
  claim(id: string): Promise<ClaimedExport | undefined>;
  /** Extends the leases of claimed exports. Returns the exports whose leases are still held. */
  renew(attempts: readonly ClaimedExport[]): Promise<ClaimedExport[]>;
  /** Returns the ids of unfinished exports whose lease has expired. */
  findOverdue(): Promise<string[]>;
}

const MAX_ATTEMPTS = 5;

/** The encryption context of an export's secret, so that a ciphertext copied to another export does not decrypt there. */
export const secretContext = (id: string) => `privacy_exports/secret/${id}`;

/** Creates the store of exports. */
export function createExportStore({ database, keyring }: Pick<Host, 'database' | 'keyring'>): ExportStore {
  function toExport(row: ExportRow): Export {
    const [id, userId, requestedBy, status, secret, records, bytes, createdAt, finishedAt, expiresAt] = row;
    const seal = createExportCipher(id, keyring.decrypt(secret, secretContext(id)));
    return { id, userId, requestedBy, status, records, bytes, createdAt, finishedAt, expiresAt, seal };
  }

  const toFirstExport = ([row]: ExportRow[]) => (row === undefined ? undefined : toExport(row));

  function toClaimedExport(attempt: number, row: ExportRow): ClaimedExport {
    const own = toExport(row);
    const fence = [own.id, attempt];
    const assertClaimHeld = (rows: readonly unknown[]) => {
      if (rows.length === 0) throw new LeaseLostError('another worker has claimed it, or it was removed');
    };
    return {
      ...own,
      attempt,
      async storeChunk(data, position, records) {
        const values = [...fence, records, position, own.seal.encrypt(data, position)];
        assertClaimHeld(await database.write({ text: STORE_CHUNK, values }));
      },
      async finish({ records, bytes, hours }, then) {
        const after: (() => unknown)[] = [];
        await database.transaction(async (tx) => {
          assertClaimHeld(await tx.write({ text: MARK_EXPORT_READY, values: [...fence, records, bytes, hours] }));
          await then({ database: tx, afterCommit: (work) => after.push(work) });
        });
        for (const work of after) work();
      },
      async fail() {
        const rows = await database.write<[status: string]>({
          text: STORE_FAILED_ATTEMPT,
          values: [...fence, MAX_ATTEMPTS],
        });
        assertClaimHeld(rows);
        return rows[0]![0] === 'failed';
      },
    };
  }

  return {
    read: async (userId, requestedBy) =>
      toFirstExport(await database.read<ExportRow>({ text: SELECT_EXPORT, values: [userId, requestedBy] })),
    async create(userId, requestedBy, hold) {
      const [id, secret] = [newId(), generateExportSecret()];
      const hash = hashToken(createExportCipher(id, secret).token);
      const values = [id, userId, requestedBy, keyring.encrypt(secret, secretContext(id)), hash];
      return database.transaction(async (tx) => {
        await hold(tx);
        await tx.write({ text: REMOVE_EXPIRED_OF, values: [userId, requestedBy] });
        return toFirstExport(await tx.write<ExportRow>({ text: INSERT_EXPORT, values }));
      });
    },
    async remove(userId, requestedBy) {
      await database.write({ text: REMOVE_EXPORT, values: [userId, requestedBy] });
    },
    readById: async (id) => toFirstExport(await database.read<ExportRow>({ text: SELECT_EXPORT_BY_ID, values: [id] })),
    findByToken: async (token) =>
      toFirstExport(await database.read<ExportRow>({ text: FIND_BY_TOKEN, values: [hashToken(token)] })),
    async readChunk({ id, seal }, position) {
      const [row] = await database.readSlowly<[data: Buffer]>({ text: READ_CHUNK, values: [id, position] });
      return row && seal.decrypt(row[0], position);
    },
    async claim(id) {
      const row = await database.transaction(async (tx) => {
        const [claimed] = await tx.write<[attempt: number, ...ExportRow]>({ text: CLAIM_EXPORT, values: [id] });
        if (claimed !== undefined) await tx.write({ text: REMOVE_CHUNKS, values: [id] });
        return claimed;
      });
      if (row === undefined) return undefined;
      const [attempt, ...rest] = row;
      return toClaimedExport(attempt, rest);
    },
    renew: (attempts) => renewLeases(database, { text: LEASES.renew }, attempts, ({ id, attempt }) => [id, attempt]),
    findOverdue: async () =>
      (await database.read<[string]>({ text: SELECT_OVERDUE_EXPORTS, values: [] })).map(([id]) => id),
  };
}
