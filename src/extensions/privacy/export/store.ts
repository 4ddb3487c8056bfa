import type { Host } from '../../../declare/host.ts';
import { hashToken } from '../../../platform/crypto/token.ts';
import { newId } from '../../../platform/ids.ts';
import type { MailTransaction } from '../../../platform/mail/sender.ts';
import type { Executor } from '../../../platform/postgres/queryable.ts';
import { createSeal, newSecret, type Seal } from './seal.ts';
import {
  CHUNK,
  CLAIM,
  CLEAR,
  CREATE,
  type ExportRow,
  FAIL,
  FIND,
  FINISH,
  OVERDUE,
  PUT,
  READ,
  READ_BY_ID,
  REMOVE,
  REMOVE_OVER,
  RENEW,
} from './sql.ts';

/** An export. */
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
  seal: Seal;
}

/** An attempt to make one. Each of its statements is refused (false) once it is somebody else's, or the export is gone. */
export interface Attempt extends Export {
  renew(): Promise<boolean>;
  /** Stores the next piece of the file. */
  put(data: Buffer, position: number, records: number): Promise<boolean>;
  /** @param then done in the transaction that makes it ready */
  finish(
    size: { records: number; bytes: number; hours: number },
    then: (within: MailTransaction) => Promise<unknown>,
  ): Promise<boolean>;
  /** Whether it has failed for good. */
  fail(): Promise<boolean>;
}

/** The stored exports. */
export interface Exports {
  /** The export that somebody has asked for of a user. */
  read(userId: string, requestedBy: string): Promise<Export | undefined>;
  /**
   * Stores a new one that waits. Undefined: there is one.
   *
   * @param hold runs first in the transaction that stores it
   */
  create(userId: string, requestedBy: string, hold: (tx: Executor) => Promise<void>): Promise<Export | undefined>;
  remove(userId: string, requestedBy: string): Promise<void>;
  readById(id: string): Promise<Export | undefined>;
  /** The one that a link leads to. */
  find(token: string): Promise<Export | undefined>;
  /** A piece of its file, decrypted; undefined behind the last one. */
  piece(one: Export, position: number): Promise<Buffer | undefined>;
  /** Begins an attempt. Undefined: it is finished, gone, or somebody is at it. */
  claim(id: string): Promise<Attempt | undefined>;
  overdue(): Promise<string[]>;
}

const MAX_ATTEMPTS = 5;

/** What the secret of an export is bound to. */
export const secretContext = (id: string) => `privacy_exports/secret/${id}`;

/** Makes the store. */
export function createExports({ database, keyring }: Pick<Host, 'database' | 'keyring'>): Exports {
  function exportOf(row: ExportRow): Export {
    const [id, userId, requestedBy, status, secret, records, bytes, createdAt, finishedAt, expiresAt] = row;
    const seal = createSeal(id, keyring.decrypt(secret, secretContext(id)));
    return { id, userId, requestedBy, status, records, bytes, createdAt, finishedAt, expiresAt, seal };
  }

  const one = ([row]: ExportRow[]) => (row === undefined ? undefined : exportOf(row));
  const done = async (text: string, values: unknown[]) => (await database.write({ text, values })).length > 0;

  function attemptOf(attempt: number, row: ExportRow): Attempt {
    const own = exportOf(row);
    const mine = [own.id, attempt];
    return {
      ...own,
      renew: () => done(RENEW, mine),
      put: (data, position, records) => done(PUT, [...mine, records, position, own.seal.close(data, position)]),
      async finish({ records, bytes, hours }, then) {
        const after: (() => unknown)[] = [];
        const finished = await database.transaction(async (tx) => {
          const rows = await tx.write({ text: FINISH, values: [...mine, records, bytes, hours] });
          if (rows.length > 0) await then({ database: tx, afterCommit: (work) => after.push(work) });
          return rows.length > 0;
        });
        for (const work of after) work();
        return finished;
      },
      async fail() {
        const [row] = await database.write<[status: string]>({ text: FAIL, values: [...mine, MAX_ATTEMPTS] });
        return row?.[0] === 'failed';
      },
    };
  }

  return {
    read: async (userId, requestedBy) =>
      one(await database.read<ExportRow>({ text: READ, values: [userId, requestedBy] })),
    async create(userId, requestedBy, hold) {
      const [id, secret] = [newId(), newSecret()];
      const hash = hashToken(createSeal(id, secret).token);
      const values = [id, userId, requestedBy, keyring.encrypt(secret, secretContext(id)), hash];
      return database.transaction(async (tx) => {
        await hold(tx);
        await tx.write({ text: REMOVE_OVER, values: [userId, requestedBy] });
        return one(await tx.write<ExportRow>({ text: CREATE, values }));
      });
    },
    async remove(userId, requestedBy) {
      await database.write({ text: REMOVE, values: [userId, requestedBy] });
    },
    readById: async (id) => one(await database.read<ExportRow>({ text: READ_BY_ID, values: [id] })),
    find: async (token) => one(await database.read<ExportRow>({ text: FIND, values: [hashToken(token)] })),
    async piece({ id, seal }, position) {
      const [row] = await database.readSlowly<[data: Buffer]>({ text: CHUNK, values: [id, position] });
      return row && seal.open(row[0], position);
    },
    async claim(id) {
      const row = await database.transaction(async (tx) => {
        const [claimed] = await tx.write<[attempt: number, ...ExportRow]>({ text: CLAIM, values: [id] });
        if (claimed !== undefined) await tx.write({ text: CLEAR, values: [id] });
        return claimed;
      });
      if (row === undefined) return undefined;
      const [attempt, ...rest] = row;
      return attemptOf(attempt, rest);
    },
    overdue: async () => (await database.read<[string]>({ text: OVERDUE, values: [] })).map(([id]) => id),
  };
}
