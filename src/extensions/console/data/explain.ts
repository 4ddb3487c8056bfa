import {
  type Action,
  ApiError,
  type Fields,
  fieldTypeOf,
  type ResourceGateway,
  type StoredRecord,
  type Translation,
  type ViewContext,
} from '../../../extension/index.ts';
import { declaredOrDefaultPolicy } from '../../../records/schema/compile.ts';
import type { DataContext } from './context.ts';
import { findTarget, listFields, policyText } from './field-info.ts';

/** The rule that hides a field from a viewer. */
interface HiddenField {
  field: string;
  /** `visibleTo: owner | admin`, `hidden`, `writeOnly`, `password`, or the reference policy of the resource that the field leads to. */
  rule: string;
}

/** Why a viewer can or cannot see a record. */
interface Explanation {
  canRead: boolean;
  /** Whether lists contain the record. */
  canList: boolean;
  /** The rules that hide the record, or that let the viewer read it. */
  why: string;
  hidden: HiddenField[];
}

/** Whether the API of a resource has the route of an action. */
export function hasRoute({ declaration: { crud = true } }: ResourceGateway, action: Action): boolean {
  return crud === true || (crud !== false && crud.includes(action));
}

/** The text of a policy with its name: `policies.read: owner | admin`. */
export function describePolicy({ declaration }: ResourceGateway, action: Action): string {
  return `policies.${action}: ${policyText(declaredOrDefaultPolicy(declaration, action))}`;
}

/** Whether an error of a list says that the viewer may not list, rather than that the query is wrong or the server failed. */
export function isRefusal(error: unknown): error is ApiError {
  return error instanceof ApiError && error.status < 500 && error.code !== 'BAD_REQUEST';
}

/** Whether the list policy includes a record. A viewer without access to the list gets an error, which counts as no. */
async function isInList(gateway: ResourceGateway, record: StoredRecord, viewContext: ViewContext): Promise<boolean> {
  try {
    const { includes } = await gateway.subscribe({ id: undefined, filters: {} }, viewContext);
    return await includes(record);
  } catch (error) {
    if (isRefusal(error)) return false;
    throw error;
  }
}

/** The rule that hides a field that the viewer does not see; undefined if no rule does. */
function findHidingRule([name, spec]: [string, Fields[string]['spec']], seen: ReadonlySet<string>): string | undefined {
  if (fieldTypeOf(spec).concealed) return 'password';
  if (spec.hidden) return 'hidden';
  if (spec.writeOnly) return 'writeOnly';
  return seen.has(name)
    ? undefined
    : `visibleTo: ${spec.visibleTo === undefined ? 'none' : policyText(spec.visibleTo)}`;
}

/** The references that are expanded on every read, but not for this viewer. */
function hiddenReferences(
  { gateway: gatewayOf }: DataContext,
  fields: readonly [string, Fields[string]['spec']][],
  serialized: Readonly<Record<string, unknown>>,
  { text }: Translation,
): HiddenField[] {
  return fields.flatMap(([field, spec]) => {
    const target = findTarget(spec);
    if (!spec.populate || target === undefined) return [];
    const values = [serialized[field]].flat();
    if (!values.some((value) => typeof value === 'string')) return [];
    const { declaration } = gatewayOf(target);
    const policy = policyText(declaration.policies?.reference ?? declaredOrDefaultPolicy(declaration, 'read'));
    const scope = declaration.scope === undefined ? '' : ', or the scope filter';
    return [
      { field, rule: text(`the reference policy of ${target} (${policy})${scope}, or the record does not exist`) },
    ];
  });
}

/** Explains which rules let a viewer see a record, and which hide the record or fields of it. */
export async function explainAccess(
  data: DataContext,
  gateway: ResourceGateway,
  record: StoredRecord,
  viewContext: ViewContext,
  translation: Translation,
): Promise<Explanation> {
  const { text } = translation;
  const isReadable = hasRoute(gateway, 'read') && (await gateway.readableBy(record, viewContext));
  const isInScope = await gateway.inScope(record, viewContext);
  const isDeleted = record.deletedAt !== undefined;
  const canRead = isReadable && !isDeleted;
  const canList =
    hasRoute(gateway, 'list') && isInScope && !isDeleted && (await isInList(gateway, record, viewContext));
  const fields = listFields(gateway.declaration.fields as Fields);
  const seen = await gateway.visibleFields(new Set(fields.map(([name]) => name)), viewContext)(record);
  const hidden = fields.flatMap((field): HiddenField[] => {
    const rule = findHidingRule(field, seen);
    return rule === undefined ? [] : [{ field: field[0], rule }];
  });
  const [serialized] = canRead ? await gateway.serialize([record], viewContext) : [];
  const why = [
    ...(isDeleted ? [text('The record is deleted')] : []),
    ...(isInScope ? [] : [text(`The scope filter of ${gateway.name} hides the record`)]),
    ...(hasRoute(gateway, 'read')
      ? isInScope && !isReadable
        ? [text(`${describePolicy(gateway, 'read')} does not allow this viewer`)]
        : []
      : [text('The resource has no route that reads a record')]),
    ...(canRead ? [text(`${describePolicy(gateway, 'read')} allows this viewer`)] : []),
    ...(isInScope && !isDeleted && !canList
      ? [
          text(
            hasRoute(gateway, 'list')
              ? `${describePolicy(gateway, 'list')} leaves the record out of lists`
              : 'The resource has no list',
          ),
        ]
      : []),
  ];
  return {
    canRead,
    canList,
    why: why.join('. '),
    hidden: serialized === undefined ? hidden : [...hidden, ...hiddenReferences(data, fields, serialized, translation)],
  };
}
