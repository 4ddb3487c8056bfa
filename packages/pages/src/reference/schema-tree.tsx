import { type OpenApiDocument, refName, type Schema, type SimpleSchema, simplify } from './document.ts';
import type { Direction } from './example.ts';
import { Nested } from './parts.tsx';
import { limitsOf, typeText } from './schema-text.ts';
import { texts } from './texts.ts';

const MAX_VALUES = 40;
/** Up to this number of alternatives, a type names all of them. */
const MAX_NAMES = 4;

/** What a schema contains: members, values with any name, alternatives, or nothing. */
type Inside =
  | { kind: 'members'; schema: Schema }
  | { kind: 'map'; schema: Schema }
  | { kind: 'alternatives'; schemas: Schema[] }
  | { kind: 'nothing' };

/** What a schema leads to: the schema of its items, as far as they are objects, or its own members. */
function findInside({ schema, alternatives }: SimpleSchema, document: OpenApiDocument): Inside {
  if (alternatives.length > 0) return { kind: 'alternatives', schemas: alternatives };
  if (schema.type === 'array' && schema.items) return findInside(simplify(schema.items, document), document);
  if (Object.keys(schema.properties ?? {}).length > 0) return { kind: 'members', schema };
  const { additionalProperties } = schema;
  if (typeof additionalProperties === 'object' && Object.keys(additionalProperties).length > 0)
    return { kind: 'map', schema: additionalProperties };
  return { kind: 'nothing' };
}

/** Whether a schema has neither members nor alternatives of its own, so that the name of its type says enough. */
const isPlain = (given: Schema, document: OpenApiDocument) =>
  findInside(simplify(given, document), document).kind === 'nothing';

function typeLabel(given: Schema, { schema, alternatives, isNullable }: SimpleSchema, document: OpenApiDocument) {
  if (alternatives.length > 0 && alternatives.length <= MAX_NAMES) {
    const names = alternatives.map((one) => refName(one) ?? typeText(simplify(one, document).schema));
    return [...new Set([...names, ...(isNullable ? ['null'] : [])])].join(texts.or);
  }
  let name = typeText(schema, alternatives);
  if (schema.type === 'array' && schema.items) {
    const items = simplify(schema.items, document);
    name = texts.schema.listOf(refName(schema.items) ?? typeText(items.schema, items.alternatives));
  } else if (name === 'object') name = refName(given) ?? name;
  return isNullable ? texts.schema.orNull(name) : name;
}

/** The values of an enum, or of the items of a list. */
export function Values({ schema }: { schema: Schema }) {
  const values = schema.enum ?? schema.items?.enum;
  if (values === undefined) return null;
  return (
    <span class="reference-values">
      {values.slice(0, MAX_VALUES).map((value) => (
        <code key={String(value)}>{String(value)}</code>
      ))}
      {values.length > MAX_VALUES && <span class="soft">{texts.schema.more(values.length - MAX_VALUES)}</span>}
    </span>
  );
}

interface TreeProps {
  schema: Schema;
  document: OpenApiDocument;
  direction: Direction;
}

function Inner({ simple, document, direction }: Omit<TreeProps, 'schema'> & { simple: SimpleSchema }) {
  const inside = findInside(simple, document);
  switch (inside.kind) {
    case 'members':
      return (
        <Nested label={texts.schema.members}>
          {() => <Members schema={inside.schema} document={document} direction={direction} />}
        </Nested>
      );
    case 'map':
      return (
        <Nested label={texts.schema.anyName}>
          {() => (
            <ul class="reference-members">
              <Member name="…" schema={inside.schema} document={document} direction={direction} />
            </ul>
          )}
        </Nested>
      );
    case 'alternatives':
      if (inside.schemas.every((one) => isPlain(one, document))) return null;
      return (
        <Nested label={texts.schema.alternatives(inside.schemas.length)}>
          {() => (
            <ul class="reference-members">
              {inside.schemas.map((one, index) => (
                <Member
                  key={index}
                  name={refName(one) ?? `${index + 1}.`}
                  isLabel={true}
                  schema={one}
                  document={document}
                  direction={direction}
                />
              ))}
            </ul>
          )}
        </Nested>
      );
    case 'nothing':
      return null;
  }
}

/** The name, type and limits of a member or parameter. */
export function MemberHead({
  name,
  isLabel = false,
  type,
  isRequired,
  schema,
}: {
  name: string;
  isLabel?: boolean;
  type: string;
  isRequired: boolean;
  schema: Schema;
}) {
  return (
    <p class="reference-member-head">
      {isLabel ? <b>{name}</b> : <code class="reference-name">{name}</code>}
      <span class="reference-type">{type}</span>
      {isRequired && <span class="reference-required">{texts.required}</span>}
      {schema['x-personal-data'] && <span class="chip">{texts.schema.personal}</span>}
      {schema.deprecated && <span class="chip">{texts.schema.deprecated}</span>}
      {limitsOf(schema).map((text) => (
        <span key={text} class="reference-limit">
          {text}
        </span>
      ))}
    </p>
  );
}

interface MemberProps extends TreeProps {
  name: string;
  /** Whether the name is that of a schema or alternative, and not of a member. */
  isLabel?: boolean;
  isRequired?: boolean;
}

function Member({ name, isLabel = false, schema: given, isRequired = false, document, direction }: MemberProps) {
  const simple = simplify(given, document);
  const { schema } = simple;
  return (
    <li class="reference-member">
      <MemberHead
        name={name}
        isLabel={isLabel}
        type={typeLabel(given, simple, document)}
        isRequired={isRequired}
        schema={schema}
      />
      {schema.description && <p class="soft">{schema.description}</p>}
      <Values schema={schema} />
      <Inner simple={simple} document={document} direction={direction} />
    </li>
  );
}

/** Whether a client sends or receives a member in this direction. */
function isShown(given: Schema, document: OpenApiDocument, direction: Direction): boolean {
  const { schema } = simplify(given, document);
  return direction === 'input' ? schema.readOnly !== true : schema.writeOnly !== true;
}

function Members({ schema, document, direction }: TreeProps) {
  const required = new Set(schema.required);
  const all = Object.entries(schema.properties ?? {}).filter(([, given]) => isShown(given, document, direction));
  const ordered = all.toSorted(([a], [b]) => Number(required.has(b)) - Number(required.has(a)));
  return (
    <ul class="reference-members">
      {(direction === 'input' ? ordered : all).map(([name, given]) => (
        <Member
          key={name}
          name={name}
          schema={given}
          isRequired={direction === 'input' && required.has(name)}
          document={document}
          direction={direction}
        />
      ))}
    </ul>
  );
}

/** A schema as a tree of its members. */
export function SchemaTree({ schema, document, direction }: TreeProps) {
  const simple = simplify(schema, document);
  const inside = findInside(simple, document);
  if (inside.kind === 'members' && simple.schema.type !== 'array')
    return <Members schema={inside.schema} document={document} direction={direction} />;
  return (
    <ul class="reference-members">
      <Member
        name={refName(schema) ?? texts.schema.value}
        isLabel={true}
        schema={schema}
        document={document}
        direction={direction}
      />
    </ul>
  );
}
