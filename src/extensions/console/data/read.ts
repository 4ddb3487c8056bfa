import { z } from 'zod';
import {
  ApiError,
  type Fields,
  isId,
  isStatementTimeout,
  quoteIdentifier,
  type ResourceGateway,
  type RouteContext,
  type StoredRecord,
  snakeCase,
  type ViewContext,
  validationError,
  withMeta,
} from '../../../extension/index.ts';
import { type ConsoleRecord, cutLongValues, maskEncryptedValues, toConsoleRecords } from './console-form.ts';
import { type DataContext, withClientInput } from './context.ts';
import { describePolicy, explainAccess, hasRoute, isRefusal } from './explain.ts';
import { labelsOf, readReferenceLabels } from './labels.ts';
import { readListQuery } from './query.ts';
import { findReferringFields, type ReferringField } from './resource-info.ts';
import { type ChosenViewer, readChosenViewer, runAsViewer } from './viewer.ts';

/** The number at which counting related records stops. */
const MAX_COUNTED = 1000;

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
      return withMeta(cutLongValues(serialized), { ...page.meta, labels: {}, titles: labelsOf(gateway, serialized) });
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
      const [serialized = null] = explanation.canRead ? await serializeForViewer(data, gateway, [record], viewer) : [];
      const titles = serialized === null ? {} : labelsOf(gateway, [serialized]);
      return withMeta(serialized, { ...meta, labels: {}, titles, relations: [], ...explanation });
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
