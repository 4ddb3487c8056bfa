import { createRetentionSweep, DAY_MS, type Host, newId, type Sweep } from '../../../../extension/index.ts';
import type { WebhookSettings } from '../../settings/settings.ts';
import type { SendBackfillPage } from './backfill-pages.ts';
import {
  type BackfillRow,
  type BackfillStatus,
  BEGIN_BACKFILL,
  CHANGE_STATUS,
  DELETE_BACKFILLS,
  DELETE_EVENTS,
  HAS_ENDPOINT,
  HAS_RUNNING,
  LIST_BACKFILLS,
  READ_BACKFILL,
  READ_UNFINISHED,
  RUNNING_BACKFILLS,
} from './backfills-sql.ts';

const BACKFILLS_AT_ONCE = 100;
/** ms for which one run of the sweep sends pages, because a stopping relay waits for it. */
const RUN_MS = 1000;
/** The log may have many million events when it is turned off. */
const MANY_ROWS = { rowsPerBatch: 5000, maxBatches: 100 };
/** Maximum number of backfills in a list. */
const MAX_LISTED = 100;

/** A request for a backfill. */
export interface BackfillRequest {
  id: string;
  endpointId: string;
  /** ISO 8601. If it is before the oldest kept event, the backfill begins with that. */
  since: string;
  /** ISO 8601; undefined: now. */
  until: string | undefined;
  /** Patterns of event names; undefined: everything to which the endpoint subscribes. */
  events: readonly string[] | undefined;
}

/** Sends endpoints the events that they have missed, page by page. If a process dies, the sweep of any relay continues its backfills. */
export interface Backfills {
  /**
   * Starts a backfill. Returns it, or the endpoint's unfinished backfill. Returns undefined if the endpoint is disabled or deleted, or its
   * unfinished backfill has just ended.
   */
  begin(request: BackfillRequest): Promise<BackfillRow | undefined>;
  hasEndpoint(endpointId: string): Promise<boolean>;
  read(id: string, endpointId: string): Promise<BackfillRow | undefined>;
  /** Returns the latest backfills of an endpoint, newest first. */
  list(endpointId: string): Promise<BackfillRow[]>;
  /** Pauses, resumes or cancels a backfill. Returns undefined if it has ended, or if there is none. */
  changeStatus(
    id: string,
    endpointId: string,
    status: Extract<BackfillStatus, 'running' | 'paused' | 'cancelled'>,
  ): Promise<BackfillRow | undefined>;
}

/** Creates the functions that start and control backfills. */
export function createBackfills(
  { database }: Pick<Host, 'database'>,
  { keepEventsDays }: Pick<WebhookSettings, 'keepEventsDays'>,
): Backfills {
  return {
    async begin({ id, endpointId, since, until, events }) {
      const keptFrom = Date.now() - keepEventsDays * DAY_MS;
      const from = new Date(Math.max(Date.parse(since), keptFrom)).toISOString();
      const values = [id, endpointId, from, until ?? null, events ?? null];
      const [begun] = await database.write<BackfillRow>({ text: BEGIN_BACKFILL, values });
      if (begun !== undefined) return begun;
      const [unfinished] = await database.write<BackfillRow>({ text: READ_UNFINISHED, values: [endpointId] });
      return unfinished;
    },
    async hasEndpoint(endpointId) {
      return (await database.write({ text: HAS_ENDPOINT, values: [endpointId] })).length > 0;
    },
    async read(id, endpointId) {
      const [row] = await database.read<BackfillRow>({ text: READ_BACKFILL, values: [id, endpointId] });
      return row;
    },
    list: (endpointId) => database.read<BackfillRow>({ text: LIST_BACKFILLS, values: [endpointId, MAX_LISTED] }),
    async changeStatus(id, endpointId, status) {
      const [row] = await database.write<BackfillRow>({ text: CHANGE_STATUS, values: [id, endpointId, status] });
      return row;
    },
  };
}

/** The result of requesting a backfill. */
export interface BegunBackfill {
  endpoint: string;
  /** `begun`: the relay carries it out; `busy`: another backfill is unfinished; `disabled` or `missing`: the endpoint is. */
  state: 'begun' | 'busy' | 'disabled' | 'missing';
  /** The id of the new or the unfinished backfill; null if there is none. */
  id: string | null;
}

/**
 * Starts to send an endpoint the kept events that it has missed. Does the same as an owner's request to `POST /api/webhooks/:id/backfill`.
 *
 * @param since ISO 8601; `until`: default now
 * @throws Error if events are not kept, or if the range does not end after it begins and before now
 */
export type StartBackfill = (request: {
  endpoint: string;
  since: string;
  until?: string | undefined;
}) => Promise<BegunBackfill>;

/** Creates `app.webhooks.backfill`. @param backfills undefined if events are not kept */
export function createBackfillStarter(backfills: Backfills | undefined): StartBackfill {
  return async ({ endpoint, since, until }) => {
    if (backfills === undefined)
      throw new Error('Events are not kept; set keepEventsDays: webhooks({ keepEventsDays: 7 })');
    const end = until === undefined ? Date.now() : Date.parse(until);
    if (!(Date.parse(since) < end && end <= Date.now()))
      throw new Error('since must be before until, and until in the past');
    const id = newId();
    const row = await backfills.begin({ id, endpointId: endpoint, since, until, events: undefined });
    if (row !== undefined) return { endpoint, state: row[0] === id ? 'begun' : 'busy', id: row[0] };
    return { endpoint, state: (await backfills.hasEndpoint(endpoint)) ? 'disabled' : 'missing', id: null };
  };
}

/** Creates the sweeps that continue backfills, and delete those that ended long ago. */
export function createBackfillSweeps(
  { database }: Pick<Host, 'database'>,
  settings: Pick<WebhookSettings, 'keepDeliveriesDays' | 'pollMs' | 'cleanMs'>,
  sendPage: SendBackfillPage,
): Sweep[] {
  /** The last backfill of the previous run: the next run begins with others, so that none of them waits for a hundred that cannot continue. */
  let after = '';

  /** Sends pages of running backfills in turn. Returns the number of pages with events. */
  async function continueBackfills(): Promise<number> {
    const end = performance.now() + RUN_MS;
    const running = await database.write<[string]>({ text: RUNNING_BACKFILLS, values: [after, BACKFILLS_AT_ONCE] });
    let ids = running.map(([id]) => id);
    after = ids.length < BACKFILLS_AT_ONCE ? '' : ids.at(-1)!;
    let pages = 0;
    const failures: unknown[] = [];
    while (ids.length > 0 && performance.now() < end) {
      const next: string[] = [];
      for (const id of ids) {
        try {
          const page = await sendPage(id);
          if (page?.more) next.push(id);
          if ((page?.examined ?? 0) > 0) pages += 1;
        } catch (error) {
          // The other backfills continue. The sweep then fails, which is logged, and this one is tried again.
          failures.push(error);
        }
      }
      ids = next;
    }
    if (failures.length > 0) throw failures[0];
    return pages;
  }

  return [
    { name: 'webhooks: backfills', everyMs: settings.pollMs, condition: HAS_RUNNING, run: continueBackfills },
    createRetentionSweep(database, {
      name: 'webhooks: old backfills',
      everyMs: settings.cleanMs,
      removals: [{ text: DELETE_BACKFILLS, values: [settings.keepDeliveriesDays * DAY_MS] }],
    }),
  ];
}

/** Creates the sweep that deletes what earlier processes have kept, after events are no longer kept. */
export function createLeftoverSweep(
  { database }: Pick<Host, 'database'>,
  { cleanMs }: Pick<WebhookSettings, 'cleanMs'>,
): Sweep {
  return createRetentionSweep(database, {
    name: 'webhooks: events that are no longer kept',
    everyMs: cleanMs,
    removals: [
      { text: DELETE_EVENTS, ...MANY_ROWS },
      { text: DELETE_BACKFILLS, values: [0] },
    ],
  });
}
