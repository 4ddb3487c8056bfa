/** The boxes and edges of the map. Nothing here depends on a browser. */

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
export const showsFieldsAtFirst = (count) => count < NAMES_FROM;

/** The short signs of a field's properties, which the details explain. */
export const markersOf = ({ unique, readOnly, immutable, hidden, writeOnly, encrypted, pii, owner, tenant }) =>
  Object.entries({ owner, tenant, unique, readOnly, immutable, hidden, writeOnly, encrypted, 'personal data': pii })
    .filter(([, isSet]) => isSet)
    .map(([name]) => name);

/** The type of a field, as a declaration would name it: `ref user`. */
export function fieldType({ type, target, inner, file }) {
  if (type === 'ref' || type === 'refs') return `${type} ${target}`;
  if (type === 'array' && inner) return `array of ${fieldType(inner)}`;
  return file && type !== 'array' ? 'file' : type;
}

/** The numbers of fields and references of a resource, in words. */
const countText = ({ fields }, { references }) =>
  `${fields.length} ${fields.length === 1 ? 'field' : 'fields'} · ${references.length} ${references.length === 1 ? 'reference' : 'references'}`;

/**
 * The box of a resource.
 *
 * @param {object} resource of the description of the app
 * @param {object} mapped of the server's map
 */
export function boxOf(resource, mapped, showFields) {
  const { name, label, fields } = resource;
  const shown = showFields ? fields.slice(0, fields.length > MAX_ROWS ? MAX_ROWS - 1 : MAX_ROWS) : [];
  const rows = shown.map((field) => ({
    name: field.name,
    text: fieldType(field),
    marks: `${field.required ? ' *' : ''}${field.unique ? ' ◆' : ''}`,
    isReference: field.target !== undefined,
  }));
  const more = showFields ? fields.length - shown.length : 0;
  // The last row has the policy of reads.
  const count = rows.length + (more > 0 ? 1 : 0) + 1;
  const height = HEAD + PADDING + (showFields ? count * ROW : ROW - 3);
  return {
    id: name,
    label,
    rows,
    more,
    policy: showFields ? `read: ${mapped.access.read?.text ?? 'no route'}` : undefined,
    summary: showFields ? undefined : countText(resource, mapped),
    width: showFields ? WIDTH : NARROW,
    height,
  };
}

/** The edges of the map: one for each reference. Several between the same resources get a number. */
export function edgesOf(resources) {
  const seen = new Map();
  return resources.flatMap(({ name, references }) =>
    references.map(({ field, target, many, onDelete }) => {
      const key = [name, target].toSorted().join(' ');
      const number = seen.get(key) ?? 0;
      seen.set(key, number + 1);
      return { id: `${name}.${field}`, from: name, to: target, field, many, onDelete, number };
    }),
  );
}

/** What happens to a referring record when the target is deleted, in words. */
export const ON_DELETE = {
  cascade: 'is deleted too',
  restrict: 'prevents the deletion',
  setNull: 'loses the reference',
  remove: 'loses the item in its list',
  keep: 'keeps the reference',
};

/** Whether the name, the label or a field of a resource contains a text. */
export const matchesText = ({ name, label, fields }, text) => {
  const wanted = text.trim().toLowerCase();
  return [name, label, ...fields.map((field) => field.name)].some((one) => one.toLowerCase().includes(wanted));
};

/** The references of other resources to a resource. */
export const incomingOf = (name, resources) =>
  resources.flatMap((resource) =>
    resource.references
      .filter(({ target }) => target === name)
      .map((reference) => ({ ...reference, from: resource.name })),
  );

/** The relations of a resource as a sentence, for the list and for screen readers. */
export function relationText({ name, references }, resources) {
  const out = references.map(({ field, target, many }) => `${target} by ${field}${many ? ' (list)' : ''}`);
  const incoming = incomingOf(name, resources).map(({ from, field }) => `${from}.${field}`);
  const parts = [
    out.length > 0 ? `Refers to ${out.join(', ')}` : 'Refers to nothing',
    incoming.length > 0 ? `referred to by ${incoming.join(', ')}` : 'nothing refers to it',
  ];
  return `${parts.join('; ')}.`;
}
