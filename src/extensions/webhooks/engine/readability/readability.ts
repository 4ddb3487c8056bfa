import {
  type Auth,
  allowsAction,
  DecryptionError,
  type ExpandedRecord,
  gatewaysByName,
  type Host,
  isAccountActive,
  isTransient,
  type ResourceGateway,
  type StoredRecord,
  type Viewer,
  viewerThroughRelation,
  withReadLimit,
} from '../../../../extension/index.ts';
import { createHidingErrorHandler, createRuleErrorReporter } from '../../../../records/schema/rule-errors.ts';
import type { OwnerKey } from '../../endpoints/endpoint.ts';
import type { KeyLimits } from '../../endpoints/key-limits.ts';
import type { EndpointOwners } from '../../endpoints/owners.ts';
import { TEST_EVENT } from '../../settings/events.ts';
import type { WebhookSettings } from '../../settings/settings.ts';
import type { DeletedRecords } from './deleted-records.ts';

/**
 * Creates the check whether a user may have global endpoints. If a function of the policy throws, access is denied and the error logged.
 * Rejects only if the database is unavailable.
 */
function createGlobalPolicyCheck(
  { service, log }: Pick<Host, 'service' | 'log'>,
  { globalPolicy }: Pick<WebhookSettings, 'globalPolicy'>,
): (user: Viewer) => Promise<boolean> {
  const onError = createHidingErrorHandler(
    createRuleErrorReporter(log),
    { resource: undefined, rule: 'webhooks({ globalPolicy })' },
    undefined,
  );
  return (user) =>
    allowsAction(globalPolicy, { user, action: 'webhook', doc: undefined, req: undefined, service }, false, onError);
}

/** Reads the owner of a global endpoint. $1 endpoint. No row: the endpoint is not global. */
const OWNER_OF_GLOBAL = `select owner_id from webhook_endpoints where id = $1 and scope = 'global'`;

/**
 * Returns whether the owner of a global endpoint may still have global endpoints; true if the endpoint is not global. Rejects if the
 * database is unavailable.
 */
export type GlobalAccessCheck = (endpointId: string) => Promise<boolean>;

/** Creates the check of global access. Returns undefined if `globalPolicy` has no functions: the claim statement then checks the roles. */
export function createGlobalAccessCheck(
  { database, service, log }: Pick<Host, 'database' | 'service' | 'log'>,
  users: Pick<ResourceGateway, 'load'>,
  { globalPolicy }: Pick<WebhookSettings, 'globalPolicy'>,
): GlobalAccessCheck | undefined {
  if (globalPolicy.functions.length === 0) return undefined;
  const isAllowed = createGlobalPolicyCheck({ service, log }, { globalPolicy });
  return async (endpointId) => {
    const statement = { name: 'webhook_owner_of_global', text: OWNER_OF_GLOBAL, values: [endpointId] };
    const [row] = await database.read<[ownerId: string]>(statement);
    if (row === undefined) return true;
    const [user] = await users.load(row);
    return user !== undefined && isAllowed(user);
  };
}

/**
 * The error of a delivery that was not sent because the endpoint's owner, or its API key, may not read the body, or because nothing may be
 * sent to the endpoint any more. Shown in the delivery log.
 */
export const NOT_READABLE = "The endpoint's owner may no longer read this record";

/** An owner that another statement has read. */
export interface ReadOwner {
  /** The row of a user, for `fromRowJson` of the users' gateway. Not used for an organisation. */
  json: Record<string, unknown>;
  /** When the statement was sent, by `performance.now()`. */
  at: number;
}

/** Maximum age in ms of an owner that another statement has read. A check reads older ones again. */
const READ_OWNER_FRESH_MS = 10;

/** The reader for which a body is checked: the owner of an endpoint, with the limits of the endpoint. */
export interface Audience extends OwnerKey {
  /** The owner, if the statement that found the endpoint has read them. */
  readOwner?: ReadOwner;
  scope: 'own' | 'global';
  /** The API key that the endpoint is bound to, or that made the request. Nothing is readable outside its scopes or after it has ended. */
  key?: Auth | null | undefined;
}

/** The event name and the body of a delivery. */
interface SentBody {
  /** The name of the event. */
  type: string;
  /** JSON: `{ type, timestamp, data }`. */
  body: string;
}

/**
 * Checks whether the owner of an endpoint may currently read the bodies of deliveries. It makes one query for the owner, unless the
 * claim has just read them or another check shares its query, and one for each resource, regardless of the number of deliveries. If a policy or scope function throws, the
 * record is unreadable and the error logged.
 *
 * @returns a verdict for each body, in order; undefined if nothing at all may be sent: the owner is deleted or inactive, or may not
 *   have a global endpoint, or the key has ended. Rejects only if the database is unavailable
 */
export type CheckReadability = (
  audience: Audience,
  bodies: readonly SentBody[],
) => Promise<readonly boolean[] | undefined>;

type Data = Record<string, unknown>;
type FindRecord = (resource: string, id: string) => StoredRecord | undefined;

/** Finds records that were loaded for a readability check. */
interface RecordLookup {
  /** Finds the record that a delivery is about: its current version, or, if it was deleted, its last version. */
  findSubject: FindRecord;
  /** Finds the current version of a record that is expanded in the body. */
  findCurrent: FindRecord;
}

const resourceNameOfEvent = (type: string) => type.slice(0, type.indexOf('.'));
const recordKeyOf = (resource: string, id: string) => `${resource}/${id}`;

function parseBodyData(body: string): Data {
  const { data } = JSON.parse(body) as { data?: unknown };
  return typeof data === 'object' && data !== null ? (data as Data) : {};
}

/** Loads records by id. A record that cannot be decrypted is logged and left out, so that the others are still loaded. */
async function loadDecryptableRecords(
  gateway: ResourceGateway,
  ids: readonly string[],
  log: Pick<Host, 'log'>['log'],
): Promise<StoredRecord[]> {
  try {
    return await gateway.load(ids);
  } catch (error) {
    if (!(error instanceof DecryptionError)) throw error;
    if (ids.length > 1) return (await Promise.all(ids.map((id) => loadDecryptableRecords(gateway, [id], log)))).flat();
    log.error(
      { err: error, resource: gateway.name, record: ids[0] },
      'a record cannot be decrypted; it is not readable',
    );
    return [];
  }
}

/** Where a readability check finds records. */
interface RecordSources extends Pick<Host, 'log'> {
  gateways: ReadonlyMap<string, ResourceGateway>;
  deleted: Pick<DeletedRecords, 'read'>;
}

/**
 * Loads the records that decide whether bodies are readable.
 *
 * @param needed the records that deliveries are about
 * @param expanded the records that are expanded in the bodies
 */
async function loadRecordLookup(
  { gateways, deleted, log }: RecordSources,
  needed: readonly ExpandedRecord[],
  expanded: readonly ExpandedRecord[],
): Promise<RecordLookup> {
  const found = new Map<string, StoredRecord>();
  const ids = Map.groupBy([...needed, ...expanded], ({ resource }) => resource);
  await Promise.all(
    Array.from(ids, async ([resource, list]) => {
      const records = await loadDecryptableRecords(
        gateways.get(resource)!,
        [...new Set(list.map(({ id }) => id))],
        log,
      );
      for (const record of records) found.set(recordKeyOf(resource, record.id), record);
    }),
  );
  const missing = needed.filter(({ resource, id }) => !found.has(recordKeyOf(resource, id)));
  const last = new Map<string, StoredRecord>();
  if (missing.length > 0)
    for (const one of await deleted.read(missing)) last.set(recordKeyOf(one.resource, one.record.id), one.record);
  const findCurrent: FindRecord = (resource, id) => found.get(recordKeyOf(resource, id));
  return {
    findCurrent,
    findSubject: (resource, id) => findCurrent(resource, id) ?? last.get(recordKeyOf(resource, id)),
  };
}

/** Creates the check whether the owner of an endpoint may read the bodies of deliveries. */
export function createReadabilityCheck(
  { resources, service, log }: Pick<Host, 'resources' | 'service' | 'log'>,
  owners: Pick<EndpointOwners, 'users' | 'load' | 'toOrganisationViewer'>,
  { globalPolicy, events }: Pick<WebhookSettings, 'globalPolicy' | 'events'>,
  deleted: Pick<DeletedRecords, 'read'>,
  limits: Pick<KeyLimits, 'reads' | 'findReadLimit' | 'ended'>,
): CheckReadability {
  const gateways = gatewaysByName(resources);
  const isGlobalAllowed = createGlobalPolicyCheck({ service, log }, { globalPolicy });

  /** Whether an event is a test or one that the app publishes. The name of such an event may begin with the name of a resource. */
  const isAppEvent = (type: string) => type === TEST_EVENT || Object.hasOwn(events, type);

  /** Returns the result of `decide`. If it throws, returns false: the body is unreadable, other deliveries are not affected. */
  async function falseOnError(where: object, decide: () => Promise<boolean>): Promise<boolean> {
    try {
      return await decide();
    } catch (error) {
      if (isTransient(error)) throw error;
      log.error(
        { err: error, ...where },
        'could not check whether a webhook body is readable; it is hidden and not sent',
      );
      return false;
    }
  }

  async function findOwner(audience: Audience): Promise<Viewer | undefined> {
    const { owner, organisationRole, readOwner } = audience;
    if (readOwner === undefined || performance.now() - readOwner.at >= READ_OWNER_FRESH_MS)
      return owners.load(audience);
    if (typeof organisationRole === 'string') return owners.toOrganisationViewer(owner, organisationRole);
    return owners.users.fromRowJson(readOwner.json);
  }

  return async (audience, bodies) => {
    const { owner, scope, key } = audience;
    const [found, ended] = await Promise.all([findOwner(audience), key ? limits.ended([key.id]) : []]);
    if (found === undefined || !isAccountActive(found) || ended.length > 0) return undefined;
    // The limit of a key includes that of its organisation.
    const user = key ? withReadLimit(found, limits.findReadLimit(key)) : found;
    const isGlobal = scope === 'global';
    // One context for all deliveries, so that the scope of each resource is evaluated once.
    const viewContext = { user, req: undefined, service };
    if (isGlobal && !(await isGlobalAllowed(user))) return undefined;
    const sent = bodies.map(({ type, body }) => {
      const gateway = isAppEvent(type) ? undefined : gateways.get(resourceNameOfEvent(type));
      return { type, gateway: gateway, data: gateway === undefined ? {} : parseBodyData(body) };
    });
    const needed: ExpandedRecord[] = [];
    const expanded: ExpandedRecord[] = [];
    for (const { gateway, data } of sent) {
      if (gateway === undefined) continue;
      if (gateway.needsRecord(user, isGlobal) && typeof data.id === 'string')
        needed.push({ resource: gateway.name, id: data.id });
      expanded.push(...gateway.expandedIn(data));
    }
    const { findSubject, findCurrent } = await loadRecordLookup({ gateways, deleted, log }, needed, expanded);
    // Side by side, so that look-ups of related records share a statement.
    const verdicts = sent.map(({ type, gateway, data }) => {
      // The owner of an event that the app publishes never changes, so only the scopes of the key are checked.
      if (key && !limits.reads(key, [type])) return false;
      if (gateway === undefined) return isAppEvent(type);
      // An organisation, or its key, reads only records of organisations.
      if (viewerThroughRelation(user, gateway.name) === undefined) return false;
      const record = findSubject(gateway.name, String(data.id));
      const where = { resource: gateway.name, record: data.id, user: owner };
      const before = { data, record, find: findCurrent };
      return falseOnError(where, () => gateway.stillReadable(before, viewContext, isGlobal));
    });
    return Promise.all(verdicts);
  };
}
