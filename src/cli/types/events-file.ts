import { z } from 'zod';
import type { ResourceFacts } from '../../runtime/openapi/resource-facts.ts';
import { type ApiDocument, createNoEventsError, type Schema } from './document.ts';
import { quote, type TypeContext, typeOfSchema, writeComment, writeObject, writeProperty } from './json-types.ts';
import { writeRecord } from './record-type.ts';

/** The name of the type of all events. */
const EVENTS = 'WebhookEvents';
/** Maximum length of a line. */
const MAX_LINE = 120;

const schema = z.record(z.string(), z.unknown());
const webhooks = z.record(
  z.string(),
  z.object({
    post: z.object({
      summary: z.string().optional(),
      requestBody: z.object({
        content: z.object({
          'application/json': z.object({ schema: z.object({ properties: z.object({ data: schema }) }) }),
        }),
      }),
    }),
  }),
);

/** An event that endpoints receive. */
interface SentEvent {
  name: string;
  summary: string | undefined;
  data: Schema;
}

/** @throws Error if the app sends no events, or if the document is not of a Belfry app */
function readEvents(document: ApiDocument): SentEvent[] {
  const read = webhooks.safeParse(document.webhooks ?? {});
  if (!read.success) throw new Error('The document has no valid webhooks. It must be of a Belfry app.');
  const events = Object.entries(read.data).map(([name, { post }]) => ({
    name,
    summary: post.summary,
    data: post.requestBody.content['application/json'].schema.properties.data,
  }));
  if (events.length === 0) throw createNoEventsError();
  return events.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** A record whose schema has the name of the union gets another one. */
const typeName = ({ schemas }: ResourceFacts) => (schemas.record === EVENTS ? `${EVENTS}Record` : schemas.record);

function writeEvent({ name, summary, data }: SentEvent, context: TypeContext): string {
  const properties = [
    writeProperty('type', quote(name)),
    writeProperty('timestamp', 'string'),
    writeProperty('data', typeOfSchema(data, context)),
  ];
  const short = `{ ${properties.join(' ').replace(/;$/, '')} }`;
  const isShort = short.length <= MAX_LINE && !short.includes('\n');
  const text = `${writeComment(summary)}| ${isShort ? short : writeObject(properties)}`;
  return `  ${text.replaceAll('\n', '\n  ')}`;
}

/**
 * Writes the types of the events that webhook endpoints receive as a file, for `createWebhookHandler<WebhookEvents>()` and
 * `verifyWebhook<WebhookEvents>()`. A record has every field that the owner of an endpoint may read; those that an owner may be unable to
 * read, or that can be unset, are optional.
 *
 * @throws Error if the app sends no events
 */
export function writeEvents(document: ApiDocument): string {
  const events = readEvents(document);
  const resources = new Map(document['x-resources'].map((one) => [one.name, one]));
  const bySchema = new Map(document['x-resources'].map((one) => [one.schemas.record, one]));
  // A set that grows while it is iterated: the records of events, and those that they contain.
  const used = new Set<ResourceFacts>();
  const use = (facts: ResourceFacts | undefined) => {
    if (facts === undefined) return undefined;
    used.add(facts);
    return typeName(facts);
  };
  const context: TypeContext = {
    direction: 'output',
    written: { characters: 0 },
    schemas: document.components.schemas,
    typeOfReference: (name) => use(bySchema.get(name)),
  };
  const union = events.map((event) => writeEvent(event, context));
  const interfaces = new Map<string, string>();
  for (const facts of used) {
    const { references, populated, schemas } = facts;
    // An id, or the record if the declaration always expands the reference and the owner of the endpoint may read it.
    const typeOfReference = (field: string) => {
      const target = populated.includes(field) ? use(resources.get(references[field]!)) : undefined;
      return target === undefined ? 'string' : `string | ${target}`;
    };
    const { description } = document.components.schemas[schemas.record]!;
    const text = `${writeComment(description)}export interface ${typeName(facts)} ${writeRecord(facts, context, typeOfReference)}`;
    interfaces.set(typeName(facts), text);
  }
  return `${[
    '// Written by `npx belfry types --webhooks`. To change it, run the command again.',
    ...[...interfaces].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, text]) => text),
    `/** The events that webhook endpoints receive: \`createWebhookHandler<${EVENTS}>({ … })\`. */\nexport type ${EVENTS} =\n${union.join('\n')};`,
  ].join('\n\n')}\n`;
}
