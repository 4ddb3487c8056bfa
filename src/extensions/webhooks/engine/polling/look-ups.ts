import { ApiError, createMicroBatch, DecryptionError, type Host } from '../../../../extension/index.ts';
import { decryptStoredBody } from '../../deliveries/stored-body.ts';
import { createSignatureHeader, createSigningKeyCache } from '../../endpoints/signing.ts';
import { type Audience, type CheckReadability, NOT_READABLE } from '../readability/readability.ts';
import { encodeCursor } from './cursor.ts';
import { FAIL_WAITING, NUMBER_WAITING, type NumberedRow, READ_WAITING, type WaitingRow } from './waiting-sql.ts';

/** Maximum number of endpoints that one statement looks up. */
const ENDPOINTS_AT_ONCE = 1000;

/** Maximum bytes of the bodies of a page; a single body may be larger. */
const PAGE_BYTES = 1_000_000;

const UNDECRYPTABLE = 'body not readable';

/** A message as a poll returns it. */
export interface PolledMessage {
  cursor: string;
  /** The `webhook-id`. */
  id: string;
  /** Unix seconds, the same as in the header. */
  timestamp: number;
  headers: Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string> & { 'webhook-backfill'?: 'true' };
  /** The text that is signed. */
  body: string;
}

/** The owner, and the API key if there is one, whose rights decide which messages a page contains. */
export interface PageReader {
  endpointId: string;
  /** The owner of the endpoint, with the API key that it is bound to. What this audience may not read fails. */
  audience: Audience;
  /** The owner with the API key of the request, if the endpoint is not bound to it. What only this key may not read stays. */
  caller: Audience | undefined;
}

/** A page of messages. `end`: the number after which the next page begins. */
export interface MessagePage {
  messages: PolledMessage[];
  end: number;
}

/** What an endpoint has: see `NUMBER_WAITING`. */
interface EndpointLook {
  isOpen: boolean;
  lastNumber: number;
  isHeldUp: boolean;
}

/** Finds and reads the messages of polled endpoints. */
export interface LookUps {
  /** Looks whether an endpoint has messages. All requests of the process share statements. Undefined: there is no such endpoint. */
  look(endpointId: string): Promise<EndpointLook | undefined>;
  /**
   * Reads the messages after a number that may be read now. Messages that the audience of the endpoint may no longer read fail.
   *
   * @throws ApiError FORBIDDEN if nothing may be sent to the endpoint, or if the key of the request may not read the next message
   */
  readPage(reader: PageReader, after: number, limit: number): Promise<MessagePage>;
}

type OpenedRow = { row: WaitingRow; body: string };

/** Creates the look-ups of a process. */
export function createLookUps(
  { database, keyring, log }: Pick<Host, 'database' | 'keyring' | 'log'>,
  check: CheckReadability,
): LookUps {
  const getSigningKeys = createSigningKeyCache(keyring);

  const look = createMicroBatch<string, EndpointLook | undefined>(
    async (endpointIds) => {
      const statement = { name: 'webhook_number_waiting', text: NUMBER_WAITING, values: [[...new Set(endpointIds)]] };
      // All statements run on the primary: a replica would not know the latest numbers.
      const rows = await database.write<NumberedRow>(statement);
      const found = new Map(
        rows.map(([id, isOpen, lastNumber, isHeldUp]) => [id, { isOpen, lastNumber: lastNumber ?? 0, isHeldUp }]),
      );
      return endpointIds.map((id) => found.get(id));
    },
    ENDPOINTS_AT_ONCE,
    setImmediate,
  );

  async function fail(rows: readonly WaitingRow[], error: string): Promise<void> {
    if (rows.length === 0) return;
    const values = [rows.map(([id]) => id), error, new Date().toISOString()];
    await database.write({ name: 'webhook_fail_waiting', text: FAIL_WAITING, values });
  }

  /** Returns the rows with their bodies. Rows whose bodies cannot be decrypted fail: a recovery can repeat them when the key is back. */
  async function open(endpointId: string, rows: readonly WaitingRow[]): Promise<OpenedRow[]> {
    const failed: WaitingRow[] = [];
    const opened = rows.flatMap((row): OpenedRow[] => {
      const [id, , , , body, encryptedBody] = row;
      try {
        return [{ row, body: decryptStoredBody(keyring, id, { body, encryptedBody }) }];
      } catch (error) {
        if (!(error instanceof DecryptionError)) throw error;
        log.error({ err: error, endpoint: endpointId, delivery: id }, 'the body of a webhook cannot be decrypted');
        failed.push(row);
        return [];
      }
    });
    await fail(failed, UNDECRYPTABLE);
    return opened;
  }

  async function checkAll(audience: Audience, rows: readonly OpenedRow[]): Promise<readonly boolean[]> {
    const verdicts = await check(
      audience,
      rows.map(({ row: [, , , type], body }) => ({ type, body })),
    );
    if (verdicts === undefined) throw new ApiError('FORBIDDEN', 'The owner of the webhook may not receive messages');
    return verdicts;
  }

  /** Returns the messages before the first that the key of the request may not read. */
  async function limitToCaller(
    caller: Audience | undefined,
    rows: readonly OpenedRow[],
  ): Promise<readonly OpenedRow[]> {
    if (caller === undefined || rows.length === 0) return rows;
    const end = (await checkAll(caller, rows)).indexOf(false);
    if (end === 0)
      throw new ApiError(
        'FORBIDDEN',
        'The API key may not read all data of the next message; poll with another credential',
      );
    return end === -1 ? rows : rows.slice(0, end);
  }

  function sign(endpointId: string, { row, body }: OpenedRow): PolledMessage {
    const [, number, id, , , , secrets, isBackfill] = row;
    const timestamp = Math.floor(Date.now() / 1000);
    const keys = secrets.flatMap((secret) => getSigningKeys(endpointId, secret));
    const headers = {
      'webhook-id': id,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': createSignatureHeader(keys, id, timestamp, body),
      ...(isBackfill ? { 'webhook-backfill': 'true' as const } : {}),
    };
    return { cursor: encodeCursor(keyring, endpointId, number), id, timestamp, headers, body };
  }

  return {
    look,
    async readPage({ endpointId, audience, caller }, after, limit) {
      const values = [endpointId, after, limit, PAGE_BYTES];
      const rows = await database.write<WaitingRow>({ name: 'webhook_read_waiting', text: READ_WAITING, values });
      const opened = await open(endpointId, rows);
      const verdicts = opened.length === 0 ? [] : await checkAll(audience, opened);
      await fail(
        opened.flatMap(({ row }, i) => (verdicts[i] ? [] : [row])),
        NOT_READABLE,
      );
      const readable = opened.filter((_, i) => verdicts[i]);
      const returned = await limitToCaller(caller, readable);
      const last = returned.length < readable.length ? returned.at(-1)?.row : rows.at(-1);
      return { messages: returned.map((one) => sign(endpointId, one)), end: last?.[1] ?? after };
    },
  };
}
