import { camelCase } from '../../declare/naming.ts';
import type { ResourceFacts } from '../../runtime/openapi/resource-facts.ts';
import type { ApiDocument, Operation, Schema } from './document.ts';
import {
  quote,
  type TypeContext,
  typeOfSchema,
  writeComment,
  writeMembers,
  writeObject,
  writeProperty,
} from './json-types.ts';
import { type Properties, writeRecord } from './record-type.ts';

/** What the sections of the file share. */
interface ApiContext {
  document: ApiDocument;
  /** The keys of the resources in the client, by their names. */
  keys: ReadonlyMap<string, string>;
  /** The names of the resources, by the names of the schemas of their records. */
  records: ReadonlyMap<string, string>;
  written: TypeContext['written'];
}

/** The key of a resource in the client: `/blog-posts` → `blogPosts`. `KeyOfPath` (src/client/schema/plural.ts) is its type. */
function keyOf({ path }: ResourceFacts): string {
  const name = path.slice(1);
  if (name.includes('/') || /-([^a-z]|$)/.test(name)) return name;
  return name === name.toLowerCase() ? camelCase(name) : path;
}

const unionOf = (names: readonly string[]) => names.map(quote).join(' | ');

function typeContext(
  { document, keys, records, written }: ApiContext,
  direction: TypeContext['direction'],
): TypeContext {
  return {
    direction,
    written,
    schemas: document.components.schemas,
    typeOfReference(name) {
      const resource = records.get(name);
      // Stands for the record in the types of the client.
      return resource === undefined ? undefined : `{ readonly $record: ${quote(keys.get(resource) ?? resource)} }`;
    },
  };
}

/** Removes null from a type: in a create, it means the same as leaving the field out. */
const withoutNull = (type: string) => type.replace(/ \| null$/, '');

/** The fields of a body; its schema is named `name`. */
function writeBody(name: string, isCreate: boolean, context: ApiContext): string {
  const { properties, required = [] } = context.document.components.schemas[name] as {
    properties: Properties;
    required?: string[];
  };
  // A body may contain the id and the times of a record as it was read; they are ignored.
  const fields = Object.entries(properties).filter(([, { readOnly }]) => readOnly !== true);
  return writeMembers(
    fields.map(([field, schema]) => {
      const type = typeOfSchema(schema, typeContext(context, 'input'));
      return writeProperty(field, isCreate ? withoutNull(type) : type, {
        optional: !required.includes(field),
        description: schema.description,
      });
    }),
  );
}

/** The type with which a field is compared: that of its items, if it is a list. */
function comparedType(name: string, facts: ResourceFacts, context: ApiContext): string {
  const { properties } = context.document.components.schemas[facts.schemas.record] as { properties: Properties };
  const field = properties[name]!;
  const single = field.type === 'array' ? (field.items as Schema) : field;
  if (Object.hasOwn(facts.references, name)) return 'string';
  if (single.format === 'date-time') return 'string | number | Date';
  if (single.format === 'decimal') return 'string | number';
  return typeOfSchema(single, typeContext(context, 'output'));
}

function writeFilters(facts: ResourceFacts, context: ApiContext): string {
  return writeObject(
    Object.entries(facts.filters).map(([name, operators]) =>
      writeProperty(
        name,
        writeObject([`value: ${comparedType(name, facts, context)};`, writeProperty('operators', unionOf(operators))]),
      ),
    ),
  );
}

const namedKeys = (targets: Readonly<Record<string, string>>, { keys }: ApiContext) =>
  writeObject(Object.entries(targets).map(([name, target]) => writeProperty(name, quote(keys.get(target) ?? target))));

function jsonSchemaOf(content: Operation['responses'][string]['content']): Schema | undefined {
  return content?.['application/json']?.schema;
}

/** What a custom route takes and returns. */
function writeRoute(name: string, { path }: ResourceFacts, context: ApiContext): string {
  const [method, below] = name.split(' ') as [string, string];
  const shape = (text: string) => text.replaceAll(/[:*]\w+|\{\w+\}/g, ':');
  const full = shape(`/api${path}${below === '/' ? '' : below}`);
  const found = Object.entries(context.document.paths).find(([documented]) => shape(documented) === full);
  const operation = found?.[1][method.toLowerCase()];
  const params = [...below.matchAll(/[:*](\w+)/g)].map(([, param]) => param!);
  const input = jsonSchemaOf(operation?.requestBody?.content);
  const query = (operation?.parameters ?? []).filter((one) => one.in === 'query');
  const success = Object.entries(operation?.responses ?? {}).find(([status]) => /^2/.test(status))?.[1];
  const body = jsonSchemaOf(success?.content) as { properties?: Properties } | undefined;
  const data = body?.properties?.data;
  return writeObject([
    writeProperty('params', params.length === 0 ? 'never' : unionOf(params)),
    writeProperty('input', input === undefined ? 'unknown' : typeOfSchema(input, typeContext(context, 'input'))),
    writeProperty(
      'query',
      query.length === 0
        ? 'unknown'
        : writeObject(
            query.map((one) =>
              writeProperty(one.name, typeOfSchema(one.schema ?? {}, typeContext(context, 'input')), {
                optional: !one.required,
              }),
            ),
          ),
    ),
    writeProperty('output', data === undefined ? 'unknown' : typeOfSchema(data, typeContext(context, 'output'))),
  ]);
}

/** The schema of a resource in the interface `Api`. Empty members are left out. */
function writeResource(facts: ResourceFacts, context: ApiContext): string {
  const { record, create, update } = facts.schemas;
  const { group, buckets, numbers, ordered } = facts.aggregates;
  const optional = (name: string, names: readonly string[]) =>
    names.length === 0 ? [] : [writeProperty(name, unionOf(names))];
  const optionalObject = (name: string, isEmpty: boolean, write: () => string) =>
    isEmpty ? [] : [writeProperty(name, write())];
  const isEmpty = (object: object) => Object.keys(object).length === 0;
  return writeProperty(
    context.keys.get(facts.name)!,
    writeObject([
      writeProperty('path', quote(facts.path)),
      writeProperty('actions', facts.actions.length === 0 ? 'never' : unionOf(facts.actions)),
      writeProperty('record', record),
      writeProperty('create', create ?? 'object'),
      writeProperty('update', update ?? 'object'),
      ...optionalObject('filters', isEmpty(facts.filters), () => writeFilters(facts, context)),
      ...optional('sort', facts.sort),
      ...(facts.search ? ['search: true;'] : []),
      ...optionalObject('references', isEmpty(facts.references), () => namedKeys(facts.references, context)),
      ...optionalObject('relations', isEmpty(facts.relations), () => namedKeys(facts.relations, context)),
      ...optional('populated', facts.populated),
      ...optional('unique', facts.unique),
      ...optional('files', facts.files),
      ...optionalObject('aggregates', group.length + buckets.length === 0, () =>
        writeObject([
          ...optional('group', group),
          ...optional('buckets', buckets),
          ...optional('numbers', numbers),
          ...optional('ordered', ordered),
        ]),
      ),
      ...optionalObject('routes', facts.routes.length === 0, () =>
        writeObject(facts.routes.map((name) => writeProperty(name, writeRoute(name, facts, context)))),
      ),
    ]),
  );
}

/** Writes the types of an API as a file. Its interface `Api` is for `createClient<Api>()`. */
export function writeApi(document: ApiDocument): string {
  const facts = [...document['x-resources']].sort((a, b) => (a.name < b.name ? -1 : 1));
  const context: ApiContext = {
    document,
    keys: new Map(facts.map((one) => [one.name, keyOf(one)])),
    records: new Map(facts.map((one) => [one.schemas.record, one.name])),
    written: { characters: 0 },
  };
  const interfaces = facts.flatMap((one) => {
    const { description } = document.components.schemas[one.schemas.record]!;
    const { record, create, update } = one.schemas;
    return [
      `${writeComment(description)}export interface ${record} ${writeRecord(one, typeContext(context, 'output'), () => 'string')}`,
      ...(create === undefined ? [] : [`export interface ${create} ${writeBody(create, true, context)}`]),
      ...(update === undefined ? [] : [`export interface ${update} ${writeBody(update, false, context)}`]),
    ];
  });
  const api = `/** The API: \`createClient<Api>({ url })\`. */\nexport interface Api {\n${facts
    .map((one) => `  ${writeResource(one, context).replaceAll('\n', '\n  ')}`)
    .join('\n')}\n}`;
  return `${['// Written by `npx belfry types`. To change it, run the command again.', ...interfaces, api].join('\n\n')}\n`;
}
