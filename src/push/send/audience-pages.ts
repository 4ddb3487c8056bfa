import type { DevicePlatform, FindDevices } from '../../accounts/devices/index.ts';
import type { Database, Executor } from '../../platform/data/postgres/database.ts';
import type { Logger } from '../../platform/observability/log.ts';
import type { Transport } from '../message/transport.ts';
import { type AudienceCursor, DEVICES_PER_PAGE, lookUpAudiencePage } from './audience.ts';
import { groupIntoChunks, STORE_PAGE, toStorePageValues } from './insert-push.ts';
import { type Outcome, pushStatusSql } from './status.ts';

/** Entries that are read together, because Postgres reads the whole lists to return a part of them. */
const ENTRIES_PER_READ = 10 * DEVICES_PER_PAGE;

// The row lock keeps other workers from the same audience.
const LOCK_AUDIENCE = `
  select platform, registered, raw, stage, done, after_device, next_chunk, next_position
  from push_audiences where push_id = $1 for update skip locked`;
type AudienceRow = [DevicePlatform, number, number, AudienceCursor['stage'], number, string | null, number, number];
const sliceSql = (list: string, done: string) => `${list}[${done} + 1 : ${done} + ${ENTRIES_PER_READ}]`;
const SELECT_ENTRIES = `
  select ${sliceSql('user_ids', 'done')}, ${sliceSql('device_ids', 'done')},
    ${sliceSql('tokens', `case when stage = 'tokens' then done else 0 end`)}
  from push_audiences where push_id = $1`;

const STORE_DEVICES = `
  with ${STORE_PAGE}, moved as (
    update push_audiences set stage = $15::text, done = $16, after_device = $17, touched_at = now(),
      next_chunk = next_chunk + cardinality($3::int[]), next_position = next_position + cardinality($8::text[])
    where push_id = $1 and $15::text is not null
  ), done as (delete from push_audiences where push_id = $1 and $15::text is null), n as (
    select (select count(*)::int from r) as devices, cardinality($3::int[]) - case when $15::text is null then 1 else 0 end as chunks
  )
  update pushes p set devices = p.devices + n.devices, open_chunks = p.open_chunks + n.chunks,
    status = ${pushStatusSql({
      open: '(p.open_chunks + n.chunks)',
      devices: '(p.devices + n.devices)',
      ok: 'p.ok_devices',
      captured: 'p.captured_devices',
    })},
    finished_at = case when p.open_chunks + n.chunks = 0 then now() end
  from n where p.id = $1 returning p.finished_at is not null, p.status, p.devices`;

/** The result of storing one page of an audience. */
export interface StoredPage {
  chunks: { chunk: number; size: number; transport: string | null }[];
  /** Whether more pages follow. */
  more: boolean;
  /** Set if this page finished the push, because all earlier devices already have results. */
  outcome: Outcome | undefined;
}

/** What is needed to look up devices and to put them in chunks. */
interface PageContext {
  transports: readonly Transport[];
  log: Logger;
  /** Whether to send to simulated devices. */
  simulated: boolean;
  findDevices: FindDevices;
}

/** A part of the lists of an audience, which never change. */
interface ReadEntries {
  stage: AudienceCursor['stage'];
  /** The number of entries of the stage before it. */
  from: number;
  userIds: string[];
  deviceIds: string[];
  tokens: string[];
}

/** Looks up the devices of a push after its first page, and stores them. */
export class AudiencePages {
  readonly #database: Database;
  readonly #pushId: string;
  readonly #context: PageContext;
  #read: ReadEntries | undefined;

  constructor(database: Database, pushId: string, context: PageContext) {
    this.#database = database;
    this.#pushId = pushId;
    this.#context = context;
  }

  /** Looks up and stores the next page. Returns undefined if no page is left or another worker is processing this audience. */
  storeNextPage(): Promise<StoredPage | undefined> {
    return this.#database.transaction(async (tx) => {
      const lock = { name: 'push_audience_lock', text: LOCK_AUDIENCE, values: [this.#pushId] };
      const [row] = await tx.write<AudienceRow>(lock);
      if (row === undefined) return undefined;
      const [platform, registered, raw, stage, done, afterDevice, firstChunk, firstPosition] = row;
      const { transports, log, simulated, findDevices } = this.#context;
      const entries = { ...(await this.#readEntries(tx, stage, done)), platform, registered, raw };
      const cursor = { stage, done, afterDevice };
      const { devices, next } = await lookUpAudiencePage(tx, entries, cursor, { simulated, findDevices });
      const chunks = groupIntoChunks(devices, transports, log);
      const values = [
        this.#pushId,
        ...toStorePageValues(chunks, { firstChunk, firstPosition, bulk: true }),
        next?.stage ?? null,
        next?.done ?? null,
        next?.afterDevice ?? null,
      ];
      const store = { name: 'push_page', text: STORE_DEVICES, values };
      const [stored] = await tx.write<[boolean, Outcome['status'], number]>(store);
      const [finished, status, count] = stored!;
      return {
        chunks: chunks.map(({ transport, targets }, i) => ({ chunk: firstChunk + i, size: targets.length, transport })),
        more: next !== undefined,
        outcome: finished ? { id: this.#pushId, status, devices: count } : undefined,
      };
    });
  }

  /** Returns the entries of one page. */
  async #readEntries(tx: Executor, stage: AudienceCursor['stage'], done: number) {
    let read = this.#read;
    if (read?.stage !== stage || done < read.from || done >= read.from + ENTRIES_PER_READ) {
      const select = { name: 'push_audience_entries', text: SELECT_ENTRIES, values: [this.#pushId] };
      const [row] = await tx.write<[string[], string[], string[]]>(select);
      const [userIds, deviceIds, tokens] = row!;
      read = { stage, from: done, userIds, deviceIds, tokens };
      this.#read = read;
    }
    const start = done - read.from;
    const takePage = (list: readonly string[], from: number) => list.slice(from, from + DEVICES_PER_PAGE);
    return {
      userIds: takePage(read.userIds, start),
      deviceIds: takePage(read.deviceIds, start),
      // The last page of registered devices also has the first raw tokens.
      tokens: takePage(read.tokens, stage === 'tokens' ? start : 0),
    };
  }
}
