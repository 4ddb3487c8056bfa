import type { FieldSpec } from '../../declare/field.ts';
import type { RecordShape, RecordView } from '../../declare/route.ts';
import type { StandardSchema } from '../../platform/helpers/standard-schema.ts';
import { requiresUser } from '../../records/access/authorize.ts';
import { fieldJsonSchema } from '../../records/fields/field-type.ts';
import type { CompiledField, CompiledResource } from '../../records/schema/compiled.ts';
import { clientVisibleReverseRelations, countNameOf } from '../../records/schema/relations.ts';
import { MAX_COUNTED } from '../../records/serialize/related-records.ts';
import { pascalCase } from './documented-routes.ts';
import { ID_SCHEMA, type Json, TIME_SCHEMA } from './schema.ts';

interface RecordSchemaContext {
  unknownFields: 'reject' | 'strip';
  /** Returns a reference to the schema of another resource's records. */
  record(shape: RecordShape): Json;
  /** Returns the schema of a json field's values. @param name the name for its parts that are stored as components */
  content(schema: StandardSchema, direction: Direction, name: string): Json;
}

type Direction = 'input' | 'output';

const BODY_DESCRIPTIONS: Record<RecordView, (name: string) => string> = {
  read: () => '',
  create: (name) => `The body that creates a ${name}.`,
  update: (name) => `The body that updates a ${name}: omitted fields stay unchanged, null clears a field.`,
  register: (name) => `The body that registers a ${name} without signing in.`,
};

/** The schema of a field's value in the given direction: its declaration, and the viewers that may see or set it. */
function fieldSchema(field: CompiledField, direction: Direction, context: RecordSchemaContext): Json {
  const schema: Json = fieldJsonSchema(field.spec, direction, (content, contentDirection) =>
    context.content(content, contentDirection, pascalCase(field.name)),
  );
  const policy = direction === 'input' ? field.writableBy : field.visibleTo;
  const notes = [
    schema.description,
    policy === undefined
      ? undefined
      : `${direction === 'input' ? 'Can be set only by' : 'Visible only to'} \`${policy.text}\`.`,
  ].filter((note) => note !== undefined);
  return {
    ...schema,
    ...(notes.length === 0 ? {} : { description: notes.join(' ') }),
    ...(field.personal ? { 'x-personal-data': true } : {}),
    ...(field.spec.writeOnly || field.type.concealed ? { writeOnly: true } : {}),
    ...(direction === 'output' && isReadOnly(field) ? { readOnly: true } : {}),
  };
}

function isReadOnly({ spec }: CompiledField): boolean {
  return spec.readOnly === true || spec.owner === true;
}

/** The schema of a reference field: an id, or the referenced record if the client requested its expansion and may see it. */
function referenceSchema(field: CompiledField, context: RecordSchemaContext): Json {
  const { description, readOnly, deprecated, ...rest } = fieldSchema(field, 'output', context);
  const notes = {
    ...(description === undefined ? {} : { description }),
    ...(readOnly ? { readOnly } : {}),
    ...(deprecated ? { deprecated } : {}),
  };
  const target = context.record({ resource: field.target!, view: 'read' });
  if (field.spec.inner === undefined) return { ...notes, oneOf: [rest, target] };
  return { ...notes, ...rest, items: { oneOf: [rest.items, target] } };
}

/** The schemas of the reverse relations, and of the numbers of their records. They are returned only if a client includes them. */
function reverseRelationSchemas(resource: CompiledResource, context: RecordSchemaContext): Json {
  return Object.fromEntries(
    clientVisibleReverseRelations(resource).flatMap(({ name, target, field, limit }) => {
      const count = countNameOf(name);
      const records = `the ${target} records whose \`${field.name}\` refers to this record, as far as you may list them`;
      const list = {
        type: 'object',
        readOnly: true,
        description: `Only with \`include=${name}\`: the first of ${records}.`,
        properties: {
          data: { type: 'array', maxItems: limit, items: context.record({ resource: target, view: 'read' }) },
          meta: {
            type: 'object',
            properties: {
              limit: { type: 'integer', description: 'The maximum number of records in the list.' },
              more: { type: 'boolean', description: 'Whether more records follow. The list of the resource has all.' },
            },
            required: ['limit', 'more'],
          },
        },
        required: ['data', 'meta'],
      };
      const number = {
        type: 'integer',
        minimum: 0,
        maximum: MAX_COUNTED,
        readOnly: true,
        description: `Only with \`include=${count}\`: the number of ${records}. ${MAX_COUNTED} stands for this number or more.`,
      };
      return [
        [name, list],
        [count, number],
      ];
    }),
  );
}

function readViewSchema(
  resource: CompiledResource,
  context: RecordSchemaContext,
): { properties: Json; always: string[] } {
  const visible = resource.fields.filter((field) => !field.secret);
  const times = resource.timestamps ? ['createdAt', 'updatedAt'] : [];
  const properties: Json = { id: { ...ID_SCHEMA, readOnly: true } };
  for (const field of visible) {
    properties[field.name] =
      field.target === undefined ? fieldSchema(field, 'output', context) : referenceSchema(field, context);
  }
  for (const name of times) properties[name] = { ...TIME_SCHEMA, readOnly: true };
  if (resource.softDelete)
    properties.deletedAt = { ...TIME_SCHEMA, readOnly: true, description: 'Only in deleted records.' };
  Object.assign(properties, reverseRelationSchemas(resource, context));
  const required = visible.filter((field) => field.spec.required && field.visibleTo === undefined);
  return { properties, always: ['id', ...required.map((field) => field.name), ...times] };
}

/** Whether the declaration lets a client send the field in a body. The user and the record are not considered. */
function isAcceptedInBody(
  resource: CompiledResource,
  { name, spec, type, closed, writableBy }: CompiledField,
  view: RecordView,
): boolean {
  if (closed || name === resource.ownerField) return false;
  if (view === 'update') return !spec.immutable && !type.concealed;
  return view !== 'register' || writableBy === undefined || !requiresUser(writableBy);
}

/** Schema keywords that describe a value rather than its type. In a schema with `anyOf`, they stay beside it, not in its parts. */
const DESCRIPTIVE = ['description', 'deprecated', 'examples', 'writeOnly', 'x-personal-data'];

/** Splits a schema into its type and the descriptive keywords. */
function splitDescription(schema: Json): [type: Json, beside: Json] {
  const entries = Object.entries(schema);
  const isDescriptive = ([key]: [string, unknown]) => DESCRIPTIVE.includes(key);
  return [
    Object.fromEntries(entries.filter((entry) => !isDescriptive(entry))),
    Object.fromEntries(entries.filter(isDescriptive)),
  ];
}

function nullableSchema(schema: Json): Json {
  const [type, description] = splitDescription(schema);
  return { ...description, anyOf: [type, { type: 'null' }] };
}

const CONSTRAINTS = ['type', 'anyOf', 'oneOf', 'allOf', 'enum', 'const', '$ref'];

function acceptsAnything(schema: Json): boolean {
  return CONSTRAINTS.every((keyword) => schema[keyword] === undefined);
}

/**
 * A value in a body, or a member of an object in one. Null means the same as omitting it, unless it is required. The default of a
 * property is nested one level deeper: client generators assume that a property with a default is always present, which is true for
 * responses but not for requests.
 */
function optionalSchema(spec: FieldSpec, { default: defaultValue, ...schema }: Json): Json {
  if (spec.required && defaultValue !== undefined) {
    const [type, description] = splitDescription(schema);
    return { ...description, allOf: [type, { default: defaultValue }] };
  }
  if (spec.required || acceptsAnything(schema)) return schema;
  return nullableSchema(defaultValue === undefined ? schema : { ...schema, default: defaultValue });
}

/** The schema of a value in a body, with the members of its objects. If unknown fields are stripped, objects may have further members. */
function bodyValueSchema(spec: FieldSpec, schema: Json, context: RecordSchemaContext): Json {
  if (spec.inner !== undefined) {
    return { ...schema, items: bodyValueSchema(spec.inner.spec, schema.items as Json, context) };
  }
  const { shape } = spec;
  if (shape === undefined) return schema;
  const { additionalProperties: _closed, ...open } = schema;
  const members = Object.entries(schema.properties as Record<string, Json>).map(([name, member]) => {
    const { spec: own } = shape[name]!;
    return [name, optionalSchema(own, bodyValueSchema(own, member, context))] as const;
  });
  return { ...open, properties: Object.fromEntries(members), ...additionalProperties(context) };
}

/** The schema of a field in a body. In an update, null clears the field, and defaults do not apply. */
function bodyFieldSchema(field: CompiledField, view: RecordView, context: RecordSchemaContext): Json {
  const { default: defaultValue, ...schema } = bodyValueSchema(
    field.spec,
    fieldSchema(field, 'input', context),
    context,
  );
  return optionalSchema(
    field.spec,
    view === 'update' || defaultValue === undefined ? schema : { ...schema, default: defaultValue },
  );
}

function additionalProperties({ unknownFields }: RecordSchemaContext): Json {
  return unknownFields === 'reject' ? { additionalProperties: false } : {};
}

const IGNORED_PROPERTY = { description: 'Ignored, so that a record can be sent back as it was read.', readOnly: true };

/** The schema of a resource's records in one view. */
export function recordSchema(resource: CompiledResource, view: RecordView, context: RecordSchemaContext): Json {
  const about = [
    view === 'read' ? resource.declaration.description : undefined,
    BODY_DESCRIPTIONS[view](resource.name),
  ];
  const description = about.filter((text) => text !== undefined && text !== '').join(' ');
  const head = { type: 'object', ...(description === '' ? {} : { description }) };
  if (view === 'read') {
    const { properties, always } = readViewSchema(resource, context);
    return { ...head, properties, required: always };
  }
  const accepted = resource.fields.filter((field) => isAcceptedInBody(resource, field, view));
  const required = accepted.filter(({ spec }) => spec.required && !('default' in spec)).map(({ name }) => name);
  return {
    ...head,
    properties: {
      ...Object.fromEntries(accepted.map((field) => [field.name, bodyFieldSchema(field, view, context)])),
      ...Object.fromEntries(['id', 'createdAt', 'updatedAt'].map((name) => [name, IGNORED_PROPERTY])),
    },
    ...(view === 'update' || required.length === 0 ? {} : { required }),
    ...additionalProperties(context),
  };
}
