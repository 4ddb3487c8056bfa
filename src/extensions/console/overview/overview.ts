import {
  type AuditTrail,
  type ConsoleTab,
  createSemaphore,
  parseCreatedMs,
  quoteIdentifier,
  type ResourceGateway,
  type Route,
  withDeadline,
} from '../../../extension/index.ts';
import type { ConsoleAccess } from '../access/access.ts';
import { NO_FIELDS } from '../access/tabs.ts';
import type { DataContext } from '../data/context.ts';
import { findRecordOptions, readLabels } from '../data/labels.ts';
import { createSharedRead } from '../operations/shared-read.ts';
import type { NewestRecord, Overview, ResourceState, SignIn } from './responses.ts';

/** The number at which counting records stops, as in lists. */
const MAX_COUNTED = 10_000;
const MAX_NEWEST = 4;
const MAX_SIGN_INS = 5;
/** Reads of one overview that run at once, so that a large app does not occupy all connections. */
const MAX_PARALLEL = 4;
/** ms after which the overview is complete: what has not been read by then is left out. */
const MAX_MS = 4000;
/** ms for which pages share the result of a read. */
const FRESH_MS = 1000;

/** What the overview is read from. */
export interface OverviewSources {
  data: DataContext;
  /** All tabs, also those that do not exist in this mode: what fails there still fails. */
  tabs: readonly ConsoleTab[];
  /** The ids of the tabs that have a page. */
  served: ReadonlySet<string>;
}

/** Reads a part; resolves to null if that fails or takes too long, so that the other parts are shown. */
type ReadPart = <T>(part: string, read: () => Promise<T>) => Promise<T | null>;

/** Creates the function that reads the parts of one overview: a few at once, and all of them within `MAX_MS`. */
function createPartReader({ log }: DataContext['host']): ReadPart {
  const { run } = createSemaphore(MAX_PARALLEL);
  const endsAt = performance.now() + MAX_MS;
  return async (part, read) => {
    const work = run(async () => (performance.now() < endsAt ? read() : null));
    try {
      return await withDeadline(work, MAX_MS);
    } catch (error) {
      log.warn({ err: error, part }, 'a part of the overview of the console could not be read');
      return null;
    }
  };
}

/** Counts the records that are not deleted: those are in another table. */
async function countRecords({ database }: DataContext['host'], { table }: ResourceGateway) {
  const text = `select count(*)::int from (select from ${quoteIdentifier(table)} limit ${MAX_COUNTED + 1}) counted`;
  const [row] = await database.readSlowly<[number]>({ text, values: [] });
  const count = Math.min(row![0], MAX_COUNTED);
  return { count, isMore: row![0] > count };
}

/** Reads the newest records by their ids, which begin with the time of their creation. Uses the primary key. */
async function readNewest(data: DataContext, gateway: ResourceGateway): Promise<NewestRecord[]> {
  const found = await findRecordOptions(data, gateway, { limit: MAX_NEWEST });
  return found.map(({ id, label }) => ({ id, label, createdAt: new Date(parseCreatedMs(id)).toISOString() }));
}

async function readResource(data: DataContext, gateway: ResourceGateway, read: ReadPart): Promise<ResourceState> {
  const { name } = gateway;
  const [records, newest] = await Promise.all([
    read(`number of ${name}`, () => countRecords(data.host, gateway)),
    read(`newest ${name}`, () => readNewest(data, gateway)),
  ]);
  return { name, records, newest };
}

async function readSignIns(data: DataContext, trail: AuditTrail): Promise<SignIn[]> {
  const { entries } = await trail.list({ action: 'auth.login', limit: MAX_SIGN_INS });
  const found = entries.flatMap(({ user, at }) => (user === null ? [] : [{ user, at }]));
  const labels = await readLabels(
    data,
    data.users,
    found.map(({ user }) => user),
  );
  return found.map(({ user: id, at }) => ({ user: { id, label: labels[id] ?? id }, at }));
}

/** Reads what does not work from all tabs. */
async function readConcerns({ tabs, served }: OverviewSources, read: ReadPart) {
  const parts = await Promise.all(
    tabs.map(async ({ id, label, concerns }) => ({
      id,
      label,
      found: concerns === undefined ? [] : await read(`concerns of ${id}`, async () => concerns()),
    })),
  );
  const concerns = parts.flatMap(({ id, found }) =>
    (found ?? []).map(({ level, message, href }) => ({ level, message, href: served.has(id) ? href : null })),
  );
  return {
    concerns: concerns.sort((a, b) => Number(b.level === 'error') - Number(a.level === 'error')),
    unread: parts.flatMap(({ label, found }) => (found === null ? [label] : [])),
  };
}

/**
 * Reads the overview: two statements for each resource, those of the concerns, and two for the sign-ins; at most `MAX_PARALLEL` at once. The
 * console shows all records to every administrator, so all of them get the same result.
 */
async function readOverview(sources: OverviewSources): Promise<Overview> {
  const { data } = sources;
  const read = createPartReader(data.host);
  const trail = data.host.auditTrail();
  const [concerns, signIns, resources] = await Promise.all([
    readConcerns(sources, read),
    trail && read('sign-ins', () => readSignIns(data, trail)),
    Promise.all(data.host.resources.map((gateway) => readResource(data, gateway, read))),
  ]);
  return { resources, ...concerns, ...(signIns !== undefined && { signIns }) };
}

/** The route of the overview, below `path`. */
export function overviewRoute(path: string, { route: access }: ConsoleAccess, sources: OverviewSources): Route {
  const read = createSharedRead(() => readOverview(sources), FRESH_MS);
  return {
    ...access,
    method: 'GET',
    path: `${path}/overview`,
    query: NO_FIELDS,
    async handler({ req }): Promise<Overview> {
      const { text, members } = sources.data.host.languages.for(req);
      const overview = await read();
      return {
        ...overview,
        concerns: overview.concerns.map((concern) => members(concern, ['message'])),
        unread: overview.unread.map(text),
      };
    },
  };
}
