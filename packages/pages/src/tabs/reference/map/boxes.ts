/** The boxes and edges of the map. Nothing here depends on a browser. */

import type { FieldInfo, ResourceInfo } from '../../../console/data/app-info.ts';
import { texts } from '../texts.ts';
import type { Box, Edge } from './layout.ts';
import type { MappedReference, MappedResource, OnDelete } from './resource-map.ts';

const WIDTH = 216;
/** Of boxes without fields. */
const NARROW = 176;
const HEAD = 30;
const ROW = 19;
const PADDING = 8;
const MAX_ROWS = 9;
/** From this number of resources on, boxes show no fields unless the user asks for them. */
const NAMES_FROM = 18;

/** Whether boxes show fields at first. */
export const showsFieldsAtFirst = (count: number): boolean => count < NAMES_FROM;

const MARKERS = new Map(Object.entries(texts.details.markers));

/** The short signs of a field's properties, which the details explain. */
export const markersOf = ({
  unique,
  readOnly,
  immutable,
  hidden,
  writeOnly,
  encrypted,
  pii,
  owner,
  tenant,
}: FieldInfo): string[] =>
  Object.entries({ owner, tenant, unique, readOnly, immutable, hidden, writeOnly, encrypted, pii })
    .filter(([, isSet]) => isSet)
    .map(([name]) => MARKERS.get(name) ?? name);

/** The type of a field, as a declaration would name it: `ref user`. */
export function fieldType({ type, target, inner, file }: FieldInfo): string {
  if (type === 'ref' || type === 'refs') return `${type} ${target}`;
  if (type === 'array' && inner) return texts.map.arrayOf(fieldType(inner));
  return file && type !== 'array' ? texts.map.file : type;
}

/** A field in a box. */
interface BoxRow {
  name: string;
  /** The type. */
  text: string;
  /** Signs for required and unique fields. */
  marks: string;
  isReference: boolean;
}

/** The box of a resource: with its fields and the policy of reads, or with a summary. */
export interface ResourceBox extends Box {
  label: string;
  rows: BoxRow[];
  /** The number of fields that are not shown. */
  more: number;
  policy: string | undefined;
  summary: string | undefined;
}

/** The numbers of fields and references of a resource, in words. */
const countText = ({ fields }: ResourceInfo, { references }: MappedResource) =>
  `${texts.map.fields(fields.length)} · ${texts.map.references(references.length)}`;

const rowOf = (field: FieldInfo): BoxRow => ({
  name: field.name,
  text: fieldType(field),
  marks: `${field.required ? ' *' : ''}${field.unique ? ' ◆' : ''}`,
  isReference: field.target !== undefined,
});

/** Creates the box of a resource. */
export function boxOf(resource: ResourceInfo, mapped: MappedResource, showFields: boolean): ResourceBox {
  const { name, label, fields } = resource;
  if (!showFields)
    return {
      id: name,
      label,
      rows: [],
      more: 0,
      policy: undefined,
      summary: countText(resource, mapped),
      width: NARROW,
      height: HEAD + PADDING + ROW - 3,
    };
  const rows = fields.slice(0, fields.length > MAX_ROWS ? MAX_ROWS - 1 : MAX_ROWS).map(rowOf);
  const more = fields.length - rows.length;
  // The last row has the policy of reads.
  const count = rows.length + (more > 0 ? 1 : 0) + 1;
  return {
    id: name,
    label,
    rows,
    more,
    policy: texts.map.read(mapped.access.read?.text ?? texts.noRoute),
    summary: undefined,
    width: WIDTH,
    height: HEAD + PADDING + count * ROW,
  };
}

/** The edge of a reference. */
export interface ReferenceEdge extends Edge {
  id: string;
  field: string;
  many: boolean;
  onDelete: OnDelete;
  /** Counts the edges between the same two resources. */
  number: number;
}

/** The edges of the map: one for each reference. */
export function edgesOf(resources: readonly MappedResource[]): ReferenceEdge[] {
  const seen = new Map<string, number>();
  return resources.flatMap(({ name, references }) =>
    references.map(({ field, target, many, onDelete }) => {
      const key = [name, target].toSorted().join(' ');
      const number = seen.get(key) ?? 0;
      seen.set(key, number + 1);
      return { id: `${name}.${field}`, from: name, to: target, field, many, onDelete, number };
    }),
  );
}

/** Whether the name, the label or a field of a resource contains a text. */
export function matchesText({ name, label, fields }: ResourceInfo, text: string): boolean {
  const wanted = text.trim().toLowerCase();
  return [name, label, ...fields.map((field) => field.name)].some((one) => one.toLowerCase().includes(wanted));
}

/** The references of other resources to a resource. */
export const incomingOf = (
  name: string,
  resources: readonly MappedResource[],
): (MappedReference & { from: string })[] =>
  resources.flatMap((resource) =>
    resource.references
      .filter(({ target }) => target === name)
      .map((reference) => ({ ...reference, from: resource.name })),
  );

/** The relations of a resource as a sentence, for the list and for screen readers. */
export function relationText({ name, references }: MappedResource, resources: readonly MappedResource[]): string {
  const out = references.map(
    ({ field, target, many }) => texts.map.target(target, field) + (many ? ` ${texts.map.list}` : ''),
  );
  const incoming = incomingOf(name, resources).map(({ from, field }) => `${from}.${field}`);
  const parts = [
    out.length > 0 ? texts.map.refersTo(out.join(', ')) : texts.map.refersToNothing,
    incoming.length > 0 ? texts.map.referredBy(incoming.join(', ')) : texts.map.referredByNothing,
  ];
  return `${parts.join('; ')}.`;
}
