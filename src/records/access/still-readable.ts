import type { ExpandedRecord, PreviousSerialization, StoredRecord } from '../../declare/host.ts';
import { allowsEveryRecord, type CompiledPolicy, type Viewer } from '../../declare/policy.ts';
import type { Entity, RecordsContext } from '../context.ts';
import type { CompiledField, CompiledResource } from '../schema/compiled.ts';
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

/** The values of a field in serialized data; for an array, its items. */
function itemsOfField(data: Data, { name }: CompiledField): unknown[] {
  const value = data[name];
  return Array.isArray(value) ? value : [value];
}

const isObject = (value: unknown): value is Data => typeof value === 'object' && value !== null;

/** The data of each record that is expanded in serialized data, with the name of its resource. */
function expandedDataIn(resource: CompiledResource, data: Data): { target: string; data: Data }[] {
  return resource.fields.flatMap((field) => {
    const { target } = field;
    if (target === undefined) return [];
    return itemsOfField(data, field)
      .filter(isObject)
      .map((value) => ({ target, data: value }));
  });
}

/** The resource and id of each record that is expanded in serialized data. */
export function expandedRecordsIn(resource: CompiledResource, data: Data): ExpandedRecord[] {
  return expandedDataIn(resource, data).map((one) => ({ resource: one.target, id: String(one.data.id) }));
}

/** Whether serialized data contains values of `encrypted()` fields, also in expanded records. */
export function containsEncryptedValues(context: RecordsContext, resource: CompiledResource, data: Data): boolean {
  if (resource.fields.some(({ name, spec }) => spec.encrypted && data[name] !== undefined)) return true;
  return expandedDataIn(resource, data).some((one) =>
    containsEncryptedValues(context, context.entities.get(one.target)!.resource, one.data),
  );
}

/** Whether the viewer may see a key of the serialized record: a field, the id or a timestamp. */
async function isKeyVisible(
  entity: Entity,
  name: string,
  record: StoredRecord | undefined,
  viewContext: ResolvedViewContext,
): Promise<boolean> {
  const { resource } = entity;
  const field = resource.field.get(name);
  if (field === undefined) {
    if (name === 'deletedAt') return resource.softDelete;
    return name === 'id' || (resource.timestamps && (name === 'createdAt' || name === 'updatedAt'));
  }
  if (field.secret) return false;
  if (field.visibleTo === undefined || allowsEveryRecord(field.visibleTo, viewContext.user)) return true;
  return record !== undefined && isFieldVisible(entity, field, record, viewContext);
}

async function isSerializedDataVisible(
  context: RecordsContext,
  resource: CompiledResource,
  { data, record, find }: PreviousSerialization,
  viewContext: ResolvedViewContext,
): Promise<boolean> {
  const holder = context.entities.get(resource.name)!;
  for (const name of Object.keys(data)) if (!(await isKeyVisible(holder, name, record, viewContext))) return false;
  for (const { target, data: inner } of expandedDataIn(resource, data)) {
    const entity = context.entities.get(target)!;
    const referenced = entity.resource;
    const throughRelation = relatedViewContext(viewContext, referenced);
    const stored = find(target, String(inner.id));
    if (stored === undefined || !(await isInScope(entity, stored, throughRelation))) return false;
    if (!(await isRecordVisible(entity, 'reference', stored, throughRelation))) return false;
    if (!(await isSerializedDataVisible(context, referenced, { data: inner, record: stored, find }, throughRelation)))
      return false;
  }
  return true;
}

/**
 * Whether a viewer may still read data that was serialized earlier. If serializing would now leave out any part, the viewer may read none
 * of it, because serialized data is sent whole.
 */
export async function isStillReadable(
  context: RecordsContext,
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
