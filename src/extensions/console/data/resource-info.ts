import { isTitleTemplate, parseTitle, type Title } from '../../../declare/title.ts';
import {
  ACTIONS,
  type Action,
  type AnyResource,
  type Fields,
  ownerFieldOf,
  pluralName,
  type ResourceGateway,
  type ReverseRelation,
  toWords,
} from '../../../extension/index.ts';
import { canBeTitle } from '../../../records/fields/field-type.ts';
import { declaredOrDefaultPolicy } from '../../../records/schema/compile.ts';
import { describeField, findTarget, isSecretField, listFields, policyText } from './field-info.ts';
import { iconPathOf } from './icons.ts';
import type { FieldInfo, ReferringField, ResourceInfo } from './responses.ts';

/** Names of fields that usually name a record, the best first. */
const LABEL_NAMES = ['name', 'title', 'label', 'displayName', 'subject', 'headline', 'email', 'slug', 'code', 'sku'];
/** What names the records of a resource: what it declares, or a field with a usual name, else the first required text. */
function findTitleOption({ fields, title }: AnyResource): string | undefined {
  if (title !== undefined) return title;
  const candidates = listFields(fields as Fields).filter(([, spec]) => canBeTitle(spec));
  const usual = LABEL_NAMES.find((name) => candidates.some(([candidate]) => candidate === name));
  return usual ?? candidates.find(([, spec]) => spec.required)?.[0];
}

/** The title of the records of a resource. Without parts: their ids name them. */
export function findTitle(resource: AnyResource): Title {
  const option = findTitleOption(resource);
  return option === undefined ? [] : parseTitle(option);
}

/** The field, or the fields of the template, that name records. */
function describeTitle(resource: AnyResource): Pick<ResourceInfo, 'labelField' | 'titleFields'> {
  const option = findTitleOption(resource);
  const isTemplate = option !== undefined && isTitleTemplate(option);
  return isTemplate
    ? { labelField: undefined, titleFields: parseTitle(option).map(({ field }) => field) }
    : { labelField: option, titleFields: undefined };
}

function listCrudActions({ crud = true }: AnyResource): readonly Action[] {
  if (crud === true) return ACTIONS;
  return crud === false ? [] : crud;
}

/** The fields of all resources that refer to a resource. */
export function findReferringFields(target: AnyResource, resources: readonly ResourceGateway[]): ReferringField[] {
  const declared = Object.entries((target.relations ?? {}) as Record<string, ReverseRelation>);
  const found = resources.flatMap(({ name: resource, declaration }) =>
    listFields(declaration.fields as Fields)
      .filter(([, spec]) => findTarget(spec) === target.name && !isSecretField(spec))
      .map(([field]) => ({ resource, field })),
  );
  return found.map(({ resource, field }) => {
    const relation = declared.find(([, one]) => one.target === resource && one.field === field)?.[0];
    const isOnlyOne = found.filter((one) => one.resource === resource).length === 1;
    return {
      name: relation ?? (isOnlyOne ? pluralName(resource) : `${pluralName(resource)} (${field})`),
      resource,
      field,
    };
  });
}

/**
 * Describes a resource.
 *
 * @param resources all resources of the app
 * @param hasAuditTrail whether the app records an audit trail
 * @param readOnly the fields that are changed in the Accounts tab: all of them, and those that not even a new record gets
 */
export function describeResource(
  { name, declaration }: ResourceGateway,
  resources: readonly ResourceGateway[],
  hasAuditTrail: boolean,
  readOnly: { all: readonly string[]; ofNew: readonly string[] },
): ResourceInfo {
  const fields = Object.entries(declaration.fields as Fields).map(([field, one]): FieldInfo => {
    const accounts = readOnly.ofNew.includes(field) ? 'never' : 'create';
    return { ...describeField(field, one), ...(readOnly.all.includes(field) && { accounts }) };
  });
  const timestamps = declaration.timestamps !== false;
  const policyTexts = ACTIONS.map((action) => [action, policyText(declaredOrDefaultPolicy(declaration, action))]);
  const reference = policyText(declaration.policies?.reference ?? declaredOrDefaultPolicy(declaration, 'read'));
  return {
    name,
    path: declaration.path ?? `/${pluralName(name)}`,
    label: declaration.labels?.one ?? toWords(name),
    plural: declaration.labels?.many ?? toWords(pluralName(name)),
    icon: iconPathOf(declaration),
    description: declaration.description,
    timestamps,
    crud: listCrudActions(declaration),
    softDelete: declaration.softDelete === true,
    audit: hasAuditTrail && declaration.audit === true,
    defaultSort: (declaration.defaultSort ?? (timestamps ? '-createdAt' : 'id')).replaceAll('_id', 'id'),
    ownerField: ownerFieldOf(declaration),
    ...describeTitle(declaration),
    policies: { ...Object.fromEntries(policyTexts), reference },
    hasScope: declaration.scope !== undefined,
    searchable: fields.some(({ searchable }) => searchable),
    fields,
    relations: findReferringFields(declaration, resources),
  };
}
