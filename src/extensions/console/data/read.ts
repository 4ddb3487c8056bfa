import { z } from 'zod';
import {
  type ActAs,
  ApiError,
  type Fields,
  isAccountActive,
  isId,
  isStatementTimeout,
  quoteIdentifier,
  type ResourceGateway,
  type RouteContext,
  type StoredRecord,
  snakeCase,
  type ViewContext,
  type Viewer,
  validationError,
  withMeta,
} from '../../../extension/index.ts';
import { runAsActor } from '../../../rules/acting.ts';
import { type ConsoleRecord, cutLongValues, maskEncryptedValues, toConsoleRecords } from './console-form.ts';
import { type DataContext, withClientInput } from './context.ts';
import { describePolicy, explainAccess, hasRoute, isRefusal } from './explain.ts';
import { collectReferences, labelsOf, readReferenceLabels } from './labels.ts';
import { readListQuery } from './query.ts';
import { findReferringFields } from './resource-info.ts';
import type { Labels, ReferringField } from './responses.ts';

/** The number at which counting related records stops. */
const MAX_COUNTED = 1000;
/** Maximum referenced records of a resource that are named to a viewer: rules decide about each. */
const MAX_VIEWER_LABELS = 100;

/** The viewer whose view a request asks for; undefined: that of an administrator, who sees everything. */
type ChosenViewer = { user: Viewer | undefined } | undefined;

/**
 * Reads the parameter `as`: `system` or nothing, `visitor` for a caller who is not signed in, or the id of a user.
 *
 * @throws ApiError VALIDATION_ERROR if there is no such user, or if the user cannot sign in
 */
async function readChosenViewer({ users }: DataContext, as: unknown): Promise<ChosenViewer> {
  if (as === undefined || as === '' || as === 'system') return undefined;
  if (as === 'visitor') return { user: undefined };
  const [user] = isId(as) ? await users.load([as]) : [];
  if (user === undefined) throw validationError({ as: 'Must be "system", "visitor" or the id of a user' });
  if (!isAccountActive(user))
    throw validationError({ as: 'This account is not active, so the API refuses every request of its user' });
  return { user };
}

/**
 * Runs reads as a viewer. Rules do not get the request of the administrator: its headers are not those of the viewer.
 *
 * @param work receives the options of service calls
 */
function runAsViewer<T>({ user }: { user: Viewer | undefined }, work: (as: ActAs) => Promise<T>): Promise<T> {
  return runAsActor({ user, req: undefined, requestId: undefined }, () => work({ as: 'user', user }));
}

/** The tag of a record's version, for `If-Match`. The part after the version keeps it apart from the tags of the API. */
export function versionTagOf(gateway: ResourceGateway, record: StoredRecord): string | undefined {
  const version = gateway.versionOf(record);
  return version && `${version}-console`;
}

/** The records as the API returns them to a viewer, without encrypted values. */
async function serializeForViewer(
  { host, gateway: gatewayOf }: DataContext,
  gateway: ResourceGateway,
  records: readonly StoredRecord[],
  { user }: NonNullable<ChosenViewer>,
): Promise<ConsoleRecord[]> {
  const serialized = await gateway.serialize(records, { user, req: undefined, service: host.service });
  return serialized.map((one) => maskEncryptedValues(gateway, one, gatewayOf));
}

/** Reads the labels of the records to which serialized records refer, as far as the viewer may read them. */
async function readViewerLabels(
  data: DataContext,
  gateway: ResourceGateway,
  serialized: readonly Readonly<Record<string, unknown>>[],
  viewer: NonNullable<ChosenViewer>,
): Promise<Labels> {
  const viewContext: ViewContext = { user: viewer.user, req: undefined, service: data.host.service };
  const references = [...collectReferences(gateway, serialized, MAX_VIEWER_LABELS)];
  const labels = references.map(async ([name, byId]) => {
    const target = data.gateway(name);
    const expanded = [...byId.values()].filter((reference) => typeof reference !== 'string');
    const stored = await target.load([...byId.keys()].filter((id) => byId.get(id) === id));
    const isReadable = await Promise.all(stored.map((record) => target.readableBy(record, viewContext)));
    const readable = stored.filter((_, index) => isReadable[index]);
    const seen = await serializeForViewer(data, target, readable, viewer);
    return [name, labelsOf(target, [...expanded, ...seen])] as const;
  });
  return Object.fromEntries(await Promise.all(labels));
}

/** Lists records as a viewer. A viewer without access to the list gets no records, but the reason. */
async function listAsViewer(
  data: DataContext,
  gateway: ResourceGateway,
  query: Record<string, unknown>,
  viewer: NonNullable<ChosenViewer>,
  req: RouteContext['req'],
): Promise<unknown> {
  const service = data.host.service(gateway.name);
  const maxBytes = data.host.settings.http.pageBytes;
  const translation = data.host.languages.for(req);
  const refuse = (error: ApiError, reason: string) => {
    const { code, message, status } = translation.error(error);
    const why = translation.text(reason);
    return withMeta([], { limit: 0, next: null, labels: {}, titles: {}, refused: { status, code, message }, why });
  };
  if (!hasRoute(gateway, 'list')) return refuse(new ApiError('NOT_FOUND'), 'The resource has no list');
  try {
    return await runAsViewer(viewer, async (as) => {
      const page = await service.list(query as object, { ...as, maxBytes });
      const serialized = await serializeForViewer(data, gateway, page.data, viewer);
      const labels = await readViewerLabels(data, gateway, serialized, viewer);
      return withMeta(cutLongValues(serialized), { ...page.meta, labels, titles: labelsOf(gateway, serialized) });
    });
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return refuse(error, `${describePolicy(gateway, 'list')} does not allow this viewer`);
  }
}

/** Handles `GET /records/:resource`. */
export async function listRecords(data: DataContext, { params, query, req }: RouteContext): Promise<unknown> {
  const gateway = data.gateway(params.resource);
  const { as, ...rest } = query as Record<string, unknown>;
  const listQuery = readListQuery(data, gateway, rest);
  const viewer = await readChosenViewer(data, as);
  if (viewer !== undefined) return listAsViewer(data, gateway, listQuery, viewer, req);
  const service = data.host.service(gateway.name);
  const maxBytes = data.host.settings.http.pageBytes;
  const page = await withClientInput(() => service.list(listQuery as object, { as: 'system', maxBytes }));
  const [records, labels] = await Promise.all([
    toConsoleRecords(data.host, gateway, page.data),
    readReferenceLabels(data, gateway, page.data),
  ]);
  return withMeta(cutLongValues(records), { ...page.meta, labels, titles: labelsOf(gateway, page.data) });
}

/**
 * Reads a stored record, also one that is soft-deleted.
 *
 * @throws ApiError NOT_FOUND
 */
async function readStoredRecord({ host }: DataContext, gateway: ResourceGateway, id: string): Promise<StoredRecord> {
  const service = host.service(gateway.name);
  try {
    return await service.read(id, { as: 'system' });
  } catch (error) {
    if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND' || gateway.archiveTable === undefined) throw error;
    if (!isId(id)) throw error;
    const deleted = await service.first({ id, deleted: 'only' }, { as: 'system' });
    if (deleted === undefined) throw error;
    return deleted;
  }
}

/** A relation of a record, with the number of related records. */
type CountedRelation = ReferringField & {
  /** Up to 1000; null if counting takes too long. */
  count: number | null;
};

/** Counts the records that refer to a record: one query for all relations. */
async function countRelations(
  { host, gateway: gatewayOf }: DataContext,
  gateway: ResourceGateway,
  id: string,
): Promise<CountedRelation[]> {
  const relations = findReferringFields(gateway.declaration, host.resources);
  if (relations.length === 0) return [];
  const counts = relations.map(({ resource, field }) => {
    const { table, declaration } = gatewayOf(resource);
    const isList = (declaration.fields as Fields)[field]!.spec.inner !== undefined;
    const column = quoteIdentifier(snakeCase(field));
    const refers = isList ? `${column} @> array[$1::text]` : `${column} = $1::text`;
    return `(select count(*)::int from (select 1 from ${quoteIdentifier(table)} where ${refers} limit ${MAX_COUNTED}) found)`;
  });
  try {
    const [row] = await host.database.readSlowly<number[]>({ text: `select ${counts.join(', ')}`, values: [id] });
    return relations.map((relation, i) => ({ ...relation, count: row![i]! }));
  } catch (error) {
    if (!isStatementTimeout(error)) throw error;
    return relations.map((relation) => ({ ...relation, count: null }));
  }
}

/** Handles `GET /records/:resource/:id`. */
export async function readRecord(data: DataContext, { params, query, req }: RouteContext): Promise<unknown> {
  const gateway = data.gateway(params.resource);
  const { as, ...rest } = query as Record<string, unknown>;
  const unknown = Object.keys(rest)[0];
  if (unknown !== undefined) throw new ApiError('BAD_REQUEST', `Unknown query parameter "${unknown.slice(0, 100)}"`);
  const viewer = await readChosenViewer(data, as);
  const record = await readStoredRecord(data, gateway, params.id!);
  const meta = { version: versionTagOf(gateway, record), deleted: record.deletedAt !== undefined };
  if (viewer !== undefined) {
    const viewContext: ViewContext = { user: viewer.user, req: undefined, service: data.host.service };
    return runAsViewer(viewer, async () => {
      const explanation = await explainAccess(data, gateway, record, viewContext, data.host.languages.for(req));
      const seen = explanation.canRead ? await serializeForViewer(data, gateway, [record], viewer) : [];
      const labels = await readViewerLabels(data, gateway, seen, viewer);
      const titles = labelsOf(gateway, seen);
      return withMeta(seen[0] ?? null, { ...meta, labels, titles, relations: [], ...explanation });
    });
  }
  const [[form], labels, relations] = await Promise.all([
    toConsoleRecords(data.host, gateway, [record]),
    readReferenceLabels(data, gateway, [record]),
    countRelations(data, gateway, record.id),
  ]);
  const titles = labelsOf(gateway, [record]);
  return withMeta(form, { ...meta, labels, titles, relations, hidden: [], canRead: true, canList: true, why: null });
}

/** The body of the route that reveals a value. */
export const revealBody = z.strictObject({ field: z.string({ error: 'Must be the name of a field' }) });

/**
 * Handles `POST /records/:resource/:id/reveal`: returns the value of an encrypted field. The audit trail records that before the value
 * leaves the server.
 */
export async function revealValue(data: DataContext, { params, input, req }: RouteContext): Promise<unknown> {
  const { host } = data;
  const gateway = data.gateway(params.resource);
  const { field } = input as z.output<typeof revealBody>;
  const fields = gateway.declaration.fields as Fields;
  const spec = Object.hasOwn(fields, field) ? fields[field]!.spec : undefined;
  if (!spec?.encrypted || spec.writeOnly)
    throw validationError({ field: 'Must be an encrypted field that can be read' });
  const record = await readStoredRecord(data, gateway, params.id!);
  const action = { action: 'console.revealed', resource: gateway.name, record: record.id, details: { field } };
  await host.auditTrail()?.add(action, req, host.database);
  return { value: record[field] ?? null };
}
