import type { ExpandedRecord, Host, ResourceView, StoredRecord } from '../../declare/host.ts';
import { allows } from '../../declare/policy.ts';
import type { Auth } from '../../declare/route.ts';
import { isActive } from '../../declare/viewer.ts';
import { DecryptionError } from '../../platform/crypto/keyring.ts';
import type { DeletedRecords } from './deleted-records.ts';
import { TEST_EVENT } from './event-names.ts';
import type { KeyLimits } from './key-limits.ts';
import { isTransient } from './owner-deliveries.ts';
import type { WebhookSettings } from './settings.ts';

/** The error of a delivery that was not sent for this reason. Shown to the endpoint's owner. */
export const NOT_READABLE = "The endpoint's owner may no longer read this record";

/** Whose endpoint it is, and of which scope. */
export interface Audience {
  owner: string;
  scope: 'own' | 'global';
  /** The API key that the endpoint is bound to, or that asks: nothing is readable outside its scopes, or after it has ended. */
  key?: Auth | null | undefined;
}

/** What a delivery sends. */
export interface SentBody {
  /** The event's name. */
  type: string;
  /** JSON: `{ type, timestamp, data }`. */
  body: string;
}

/**
 * Whether the owner of an endpoint may read what deliveries send, as things stand now, in the order of the deliveries. Undefined: the
 * owner is deleted or not active, or may not have a global endpoint, or the key has ended, so nothing at all may be sent.
 *
 * It makes one query for the owner and one for each resource, whatever the number of deliveries. Rejects only when the database is
 * away. A policy or scope function that throws makes the record unreadable, and is logged.
 */
export type CheckReadability = (
  audience: Audience,
  bodies: readonly SentBody[],
) => Promise<readonly boolean[] | undefined>;

type Data = Record<string, unknown>;
type Find = (resource: string, id: string) => StoredRecord | undefined;

/** What the check looks records up by. */
interface Lookup {
  /** The record that a delivery is about: as it is now, or as it was when it was deleted. */
  subject: Find;
  /** A record that stands expanded in it: as it is now. */
  current: Find;
}

const resourceOf = (type: string) => type.slice(0, type.indexOf('.'));
const keyOf = (resource: string, id: string) => `${resource}/${id}`;

function dataOf(body: string): Data {
  const { data } = JSON.parse(body) as { data?: unknown };
  return typeof data === 'object' && data !== null ? (data as Data) : {};
}

/** Loads records by id. One that cannot be decrypted is logged and left out; it must not stand in the way of the others. */
async function loadEach(
  view: ResourceView,
  ids: readonly string[],
  log: Pick<Host, 'log'>['log'],
): Promise<StoredRecord[]> {
  try {
    return await view.load(ids);
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    if (ids.length > 1) return (await Promise.all(ids.map((id) => loadEach(view, [id], log)))).flat();
    log.error({ err: error, resource: view.name, record: ids[0] }, 'a record cannot be decrypted; it is not readable');
    return [];
  }
}

/** Creates the check. */
export function createReadability(
  { resources, service, log }: Pick<Host, 'resources' | 'service' | 'log'>,
  users: Pick<ResourceView, 'load'>,
  { globalPolicy, events }: Pick<WebhookSettings, 'globalPolicy' | 'events'>,
  deleted: Pick<DeletedRecords, 'read'>,
  limits: Pick<KeyLimits, 'reads' | 'ended'>,
): CheckReadability {
  const views = new Map(resources.map((view) => [view.name, view]));

  /** Also of events that are named after a resource, but are no changes of its records. */
  const isOfApp = (type: string) => type === TEST_EVENT || Object.hasOwn(events, type);

  /** A function of the project's own that throws refuses. */
  async function asked(where: object, decide: () => Promise<boolean>): Promise<boolean> {
    try {
      return await decide();
    } catch (error) {
      if (isTransient(error)) throw error;
      log.error({ err: error, ...where }, 'a policy or scope function threw; nothing is sent or shown');
      return false;
    }
  }

  async function lookUp(needed: readonly ExpandedRecord[], expanded: readonly ExpandedRecord[]): Promise<Lookup> {
    const found = new Map<string, StoredRecord>();
    const ids = Map.groupBy([...needed, ...expanded], ({ resource }) => resource);
    await Promise.all(
      Array.from(ids, async ([resource, list]) => {
        const records = await loadEach(views.get(resource)!, [...new Set(list.map(({ id }) => id))], log);
        for (const record of records) found.set(keyOf(resource, record.id), record);
      }),
    );
    const gone = needed.filter(({ resource, id }) => !found.has(keyOf(resource, id)));
    const last = new Map<string, StoredRecord>();
    if (gone.length > 0)
      for (const one of await deleted.read(gone)) last.set(keyOf(one.resource, one.record.id), one.record);
    const current: Find = (resource, id) => found.get(keyOf(resource, id));
    return { current, subject: (resource, id) => current(resource, id) ?? last.get(keyOf(resource, id)) };
  }

  return async ({ owner, scope, key }, bodies) => {
    const [[user], ended] = await Promise.all([users.load([owner]), key ? limits.ended([key.id]) : []]);
    if (user === undefined || !isActive(user) || ended.length > 0) return undefined;
    const isGlobal = scope === 'global';
    // One viewer for all deliveries: the scope of a resource is evaluated once for them.
    const looking = { user, req: undefined, service };
    if (isGlobal) {
      const args = { ...looking, action: 'webhook', doc: undefined };
      if (!(await asked({ user: owner }, () => allows(globalPolicy, args, false)))) return undefined;
    }
    const sent = bodies.map(({ type, body }) => {
      const view = isOfApp(type) ? undefined : views.get(resourceOf(type));
      return { type, view, data: view === undefined ? {} : dataOf(body) };
    });
    const needed: ExpandedRecord[] = [];
    const expanded: ExpandedRecord[] = [];
    for (const { view, data } of sent) {
      if (view === undefined) continue;
      if (view.needsRecord(user, isGlobal) && typeof data.id === 'string')
        needed.push({ resource: view.name, id: data.id });
      expanded.push(...view.expandedIn(data));
    }
    const { subject, current } = await lookUp(needed, expanded);
    const verdicts: boolean[] = [];
    for (const { type, view, data } of sent) {
      // Events that the app publishes go to endpoints of the user they are for, and that never changes.
      if (key && !limits.reads(key, [type])) verdicts.push(false);
      else if (view === undefined) verdicts.push(isOfApp(type));
      else {
        const record = subject(view.name, String(data.id));
        const where = { resource: view.name, record: data.id, user: owner };
        verdicts.push(await asked(where, () => view.stillReadable({ data, record, find: current }, looking, isGlobal)));
      }
    }
    return verdicts;
  };
}
