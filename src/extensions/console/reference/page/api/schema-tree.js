import { html } from 'belfry/console';
import { useState } from 'preact/hooks';
import { refName, simplify } from './document.js';
import { limitsOf, typeText } from './example.js';

const MAX_VALUES = 30;
/** Up to this number of alternatives, a type names all of them. */
const MAX_NAMES = 4;

/** What a schema leads to: the schema of its items, as far as they are objects, or its own members. */
function membersOf({ schema, alternatives }, document) {
  if (alternatives.length > 0) return { alternatives };
  if (schema.type === 'array' && schema.items) {
    const items = simplify(schema.items, document);
    return membersOf(items, document);
  }
  if (schema.properties && Object.keys(schema.properties).length > 0) return { object: schema };
  if (typeof schema.additionalProperties === 'object' && Object.keys(schema.additionalProperties).length > 0)
    return { map: schema.additionalProperties };
  return {};
}

/** Whether a schema has neither members nor alternatives of its own, so that the name of its type says enough. */
function isPlain(given, document) {
  const simple = simplify(given, document);
  return Object.keys(membersOf(simple, document)).length === 0;
}

function typeLabel(given, { schema, alternatives, isNullable }, document) {
  let name = typeText(schema, alternatives);
  if (alternatives.length > 0 && alternatives.length <= MAX_NAMES) {
    const names = alternatives.map((one) => refName(one) ?? typeText(simplify(one, document).schema));
    return [...new Set([...names, ...(isNullable ? ['null'] : [])])].join(' or ');
  }
  if (schema.type === 'array' && schema.items) {
    const items = simplify(schema.items, document);
    name = `list of ${refName(schema.items) ?? typeText(items.schema, items.alternatives)}`;
  } else if (refName(given) !== undefined && name === 'object') name = refName(given);
  return isNullable ? `${name} or null` : name;
}

function Values({ schema }) {
  const values = schema.enum ?? schema.items?.enum;
  if (values === undefined) return null;
  return html`<span class="reference-values">
    ${values.slice(0, MAX_VALUES).map((value) => html`<code key=${String(value)}>${String(value)}</code>`)}
    ${values.length > MAX_VALUES && html`<span class="soft">and ${values.length - MAX_VALUES} more</span>`}
  </span>`;
}

/** A part that is rendered only while it is open, because schemas may contain each other. @param {{ label: any, children: () => any }} props */
export function Nested({ label, children }) {
  const [isOpen, setOpen] = useState(false);
  return html`<details class="reference-nested" open=${isOpen} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${label}</summary>
    ${isOpen && children()}
  </details>`;
}

function Inner({ simple, document, direction }) {
  const { object, alternatives, map } = membersOf(simple, document);
  if (object !== undefined)
    return html`<${Nested} label="Members">${() => html`<${Members} schema=${object} document=${document} direction=${direction} />`}<//>`;
  if (map !== undefined)
    return html`<${Nested} label="Members with any name">
      ${() => html`<ul class="reference-members"><${Member} name="…" given=${map} document=${document} direction=${direction} /></ul>`}
    <//>`;
  if (alternatives === undefined || alternatives.every((one) => isPlain(one, document))) return null;
  return html`<${Nested} label=${`${alternatives.length} alternatives`}>
    ${() => html`<ul class="reference-members">
      ${alternatives.map(
        (one, index) =>
          html`<${Member} key=${index} name=${refName(one) ?? `${index + 1}.`} isLabel=${true} given=${one} document=${document} direction=${direction} />`,
      )}
    </ul>`}
  <//>`;
}

function Member({ name, isLabel = false, given, isRequired = false, document, direction }) {
  const simple = simplify(given, document);
  const { schema } = simple;
  const limits = limitsOf(schema);
  return html`<li class="reference-member">
    <p class="reference-member-head">
      ${isLabel ? html`<b>${name}</b>` : html`<code class="reference-name">${name}</code>`}
      <span class="reference-type">${typeLabel(given, simple, document)}</span>
      ${isRequired && html`<span class="reference-required">required</span>`}
      ${schema['x-personal-data'] && html`<span class="chip">personal data</span>`}
      ${schema.deprecated && html`<span class="chip">deprecated</span>`}
      ${limits.map((text) => html`<span key=${text} class="reference-limit">${text}</span>`)}
    </p>
    ${schema.description && html`<p class="soft">${schema.description}</p>`}
    <${Values} schema=${schema} />
    <${Inner} simple=${simple} document=${document} direction=${direction} />
  </li>`;
}

/** Members that a client neither sends nor receives in this direction. */
const isShown = (given, document, direction) => {
  const { schema } = simplify(given, document);
  return direction === 'input' ? schema.readOnly !== true : schema.writeOnly !== true;
};

function Members({ schema, document, direction }) {
  const required = new Set(schema.required ?? []);
  const all = Object.entries(schema.properties ?? {}).filter(([, given]) => isShown(given, document, direction));
  const ordered = all.toSorted(([a], [b]) => Number(required.has(b)) - Number(required.has(a)));
  return html`<ul class="reference-members">
    ${(direction === 'input' ? ordered : all).map(
      ([name, given]) => html`<${Member}
        key=${name}
        name=${name}
        given=${given}
        isRequired=${direction === 'input' && required.has(name)}
        document=${document}
        direction=${direction}
      />`,
    )}
  </ul>`;
}

/**
 * A schema as a tree of its members.
 *
 * @param {{ schema: object, document: object, direction: 'input' | 'output' }} props
 */
export function SchemaTree({ schema, document, direction }) {
  const simple = simplify(schema, document);
  const { object } = membersOf(simple, document);
  if (object !== undefined && simple.schema.type !== 'array')
    return html`<${Members} schema=${object} document=${document} direction=${direction} />`;
  return html`<ul class="reference-members">
    <${Member} name=${refName(schema) ?? 'value'} isLabel=${true} given=${schema} document=${document} direction=${direction} />
  </ul>`;
}
