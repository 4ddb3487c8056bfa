import type { ExpandedRecord, PreviousSerialization, StoredRecord } from '../../declare/host.ts';
import { snakeCase } from '../../declare/naming.ts';
import { allowsEveryRecord, type CompiledPolicy, type Viewer } from '../../declare/policy.ts';
import { isId } from '../../platform/helpers/ids.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
import type { Entity, EntityContext } from '../store/entity.ts';
import type { ResolvedViewContext } from './operation-context.ts';
import { relatedViewContext } from './related-visibility.ts';
import { isFieldVisible, isInScope, isRecordVisible } from './visibility.ts';

type Data = PreviousSerialization['data'];

/** Whether a policy needs the record to decide for this viewer. */
function doesPolicyDependOnRecord(policy: CompiledPolicy, viewer: Viewer | undefined): boolean {
  return !allowsEveryRecord(policy, viewer) && (policy.owner || policy.functions.length > 0);
}

/**
 * Whether this viewer's access to a resource can differ between records.
 *
 * @param anyRecord true skips the read policy
 */
export function doesAccessDependOnRecord(
  resource: CompiledResource,
  viewer: Viewer | undefined,
  anyRecord: boolean,
): boolean {
  return (
    resource.declaration.scope !== undefined ||
    (!anyRecord && doesPolicyDependOnRecord(resource.policies.read, viewer)) ||
    resource.fields.some(
      ({ secret, visibleTo }) => !secret && visibleTo !== undefined && doesPolicyDependOnRecord(visibleTo, viewer),
    )
  );
}

const isObject = (value: unknown): value is Data => typeof value === 'object' && value !== null;

/** Of how many keys of a resource the fields are remembered. Keys are names of fields, but old data may have others. */
const MAX_KNOWN_KEYS = 1000;
const knownKeys = new WeakMap<CompiledResource, Map<string, readonly CompiledField[]>>();

function findFieldsOfKey(resource: CompiledResource, key: string): CompiledField[] {
  const column = snakeCase(key);
  return resource.fields.filter(
    ({ name, spec }) => name === key || spec.renamedFrom?.some((former) => snakeCase(former) === column),
  );
}

/**
 * The fields whose value a key in serialized data may hold: the field with this name, and fields that had this name earlier. There can be
 * both, because a new field may reuse an earlier name.
 */
function fieldsOfKey(resource: CompiledResource, key: string): readonly CompiledField[] {
  let known = knownKeys.get(resource);
  if (known === undefined) {
    known = new Map();
    knownKeys.set(resource, known);
  }
  let fields = known.get(key);
  if (fields === undefined) {
    fields = findFieldsOfKey(resource, key);
    if (known.size < MAX_KNOWN_KEYS) known.set(key, fields);
  }
  return fields;
}

/** Data that is expanded in serialized data. */
interface ExpandedData {
  /** The resource of the record; undefined if the reference is no longer declared, or another one now has its name. */
  target: string | undefined;
  data: Data & { id: string };
}

/** The data of each record that is expanded in serialized data. */
function expandedDataIn(resource: CompiledResource, data: Data): ExpandedData[] {
  return Object.entries(data).flatMap(([key, value]) => {
    if (!isObject(value)) return [];
    const fields = fieldsOfKey(resource, key);
    if (fields.length > 0 && fields.every((field) => field.target === undefined)) return [];
    const target = fields.length === 1 ? fields[0]!.target : undefined;
    return (Array.isArray(value) ? value : [value])
      .filter((item): item is ExpandedData['data'] => isObject(item) && isId(item.id))
      .map((item) => ({ target, data: item }));
  });
}

/**
 * The resource and id of each record that is expanded in serialized data. If its reference is no longer declared, the record may belong to
 * any resource, so each of them is returned.
 */
export function expandedRecordsIn(context: EntityContext, resource: CompiledResource, data: Data): ExpandedRecord[] {
  return expandedDataIn(resource, data).flatMap(({ target, data: { id } }) =>
    (target === undefined ? context.names : [target]).map((name) => ({ resource: name, id })),
  );
}

/** Whether serialized data contains values of `encrypted()` fields, also in expanded records. */
export function containsEncryptedValues(context: EntityContext, resource: CompiledResource, data: Data): boolean {
  const isSealed = ([key, value]: [string, unknown]) =>
    value !== undefined && fieldsOfKey(resource, key).some(({ spec }) => spec.encrypted);
  if (resource.fields.some(({ spec }) => spec.encrypted) && Object.entries(data).some(isSealed)) return true;
  return expandedDataIn(resource, data).some(
    ({ target, data: inner }) =>
      target !== undefined && containsEncryptedValues(context, context.entities.get(target)!.resource, inner),
  );
}

const isVisibleInEveryRecord = ({ secret, visibleTo }: CompiledField, viewer: Viewer | undefined) =>
  !secret && (visibleTo === undefined || allowsEveryRecord(visibleTo, viewer));

/**
 * Whether the viewer may see all keys of the serialized record. No rule hides the id, the timestamps, or a field that is no longer
 * declared: the viewer could read it when it was serialized.
 */
async function areKeysVisible(
  entity: Entity,
  data: Data,
  record: StoredRecord | undefined,
  viewContext: ResolvedViewContext,
): Promise<boolean> {
  for (const name of Object.keys(data)) {
    for (const field of fieldsOfKey(entity.resource, name)) {
      if (isVisibleInEveryRecord(field, viewContext.user)) continue;
      if (field.secret || record === undefined) return false;
      if (!(await isFieldVisible(entity, field, record, viewContext))) return false;
    }
  }
  return true;
}

async function isSerializedDataVisible(
  context: EntityContext,
  resource: CompiledResource,
  { data, record, find }: PreviousSerialization,
  viewContext: ResolvedViewContext,
): Promise<boolean> {
  const holder = context.entities.get(resource.name)!;
  if (!(await areKeysVisible(holder, data, record, viewContext))) return false;
  for (const { target, data: inner } of expandedDataIn(resource, data)) {
    const names = target === undefined ? context.names : [target];
    const name = names.find((one) => find(one, inner.id) !== undefined);
    if (name === undefined) return false;
    const entity = context.entities.get(name)!;
    const stored = find(name, inner.id)!;
    const throughRelation = relatedViewContext(viewContext, entity.resource);
    if (!(await isInScope(entity, stored, throughRelation))) return false;
    if (!(await isRecordVisible(entity, 'reference', stored, throughRelation))) return false;
    const nested = { data: inner, record: stored, find };
    if (!(await isSerializedDataVisible(context, entity.resource, nested, throughRelation))) return false;
  }
  return true;
}

/**
 * Whether a viewer may still read data that was serialized earlier. If a rule now hides any part of it, the viewer may read none of it,
 * because serialized data is sent whole. Only the content of the data counts: fields that have since been renamed, added, removed or given
 * another type do not make it unreadable.
 */
export async function isStillReadable(
  context: EntityContext,
  resource: CompiledResource,
  before: PreviousSerialization,
  viewContext: ResolvedViewContext,
  anyRecord: boolean,
): Promise<boolean> {
  const { record } = before;
  if (record === undefined && doesAccessDependOnRecord(resource, viewContext.user, anyRecord)) return false;
  const entity = context.entities.get(resource.name)!;
  if (!(await isInScope(entity, record, viewContext))) return false;
  if (!anyRecord && !(await isRecordVisible(entity, 'read', record, viewContext))) return false;
  return isSerializedDataVisible(context, resource, before, viewContext);
}
