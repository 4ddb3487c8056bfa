import type { SentEvent } from '../../declare/events.ts';
import type { Settings } from '../../platform/settings/settings.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { createComponents } from './components.ts';
import { pascalCase } from './documented-routes.ts';
import type { Components, Json } from './schema.ts';
import { mapObjects, shapeSchema } from './shape.ts';

/** The inputs of an app's AsyncAPI document. */
interface AsyncApiParts {
  resources: readonly CompiledResource[];
  /** The events that the app sends to webhook endpoints. */
  sent: readonly SentEvent[];
  settings: Settings;
}

/** The one channel of the document: all events of an endpoint arrive at its URL. */
const CHANNEL = 'webhooks';

/**
 * Writes a schema of JSON Schema 2020-12 in draft 07, on which those of AsyncAPI are based: there, `$ref` has nothing beside it, and the
 * schemas of a tuple are `items`.
 */
function toDraft07(schema: unknown): unknown {
  return mapObjects(schema, (one) => {
    if (typeof one.$ref === 'string' && Object.keys(one).length > 1) {
      const { $ref, ...beside } = one;
      return { ...beside, allOf: [{ $ref }] };
    }
    if (!Array.isArray(one.prefixItems)) return one;
    const { prefixItems, items, ...beside } = one;
    return { ...beside, items: prefixItems, ...(items === undefined ? {} : { additionalItems: items }) };
  });
}

function headersSchema(headers: SentEvent['headers']): Json {
  const properties = Object.entries(headers).map(([name, description]) => [name, { type: 'string', description }]);
  return { type: 'object', properties: Object.fromEntries(properties), required: Object.keys(headers) };
}

function createMessage({ name, summary, headers, data, body, tags }: SentEvent, components: Components): Json {
  const schema = body(shapeSchema(data, 'output', `${pascalCase(name)}Data`, components)) as Json;
  return {
    name,
    title: name,
    summary,
    contentType: 'application/json',
    headers: components.addPart('schemas', 'WebhookHeaders', headersSchema(headers)),
    payload: components.addPart('schemas', `${pascalCase(name)}Event`, schema),
    tags: tags.map((tag) => ({ name: tag })),
  };
}

function createOperation({ name, summary }: SentEvent): Json {
  return {
    action: 'send',
    channel: { $ref: `#/channels/${CHANNEL}` },
    summary,
    messages: [{ $ref: `#/channels/${CHANNEL}/messages/${name}` }],
    bindings: { http: { method: 'POST', bindingVersion: '0.3.0' } },
  };
}

const byName = <T>(events: readonly SentEvent[], create: (event: SentEvent) => T): Record<string, T> =>
  Object.fromEntries(events.map((event) => [event.name, create(event)]));

/**
 * Creates the AsyncAPI 3.0 document of an app (https://www.asyncapi.com/docs/reference/specification/v3.0.0): the events that it sends to
 * webhook endpoints, with the same schemas as `webhooks` of the OpenAPI document.
 */
export function createAsyncApiDocument({ resources, sent, settings }: AsyncApiParts): Json {
  const { title, version, description } = settings.openapi;
  const components = createComponents(resources, settings.unknownFields);
  const messages = byName(sent, (event) => createMessage(event, components));
  const { schemas } = toDraft07(components.partsBySection()) as { schemas: Json };
  const channel = {
    address: null,
    title: 'Webhook endpoints',
    description:
      'Each event is posted to the URLs of the endpoints that subscribe to it, at least once. Any other response than 2xx is a failed attempt.',
    messages: byName(sent, ({ name }) => ({ $ref: `#/components/messages/${name}` })),
  };
  return {
    asyncapi: '3.0.0',
    info: { title, version, ...(description === undefined ? {} : { description }) },
    defaultContentType: 'application/json',
    channels: { [CHANNEL]: channel },
    operations: byName(sent, createOperation),
    components: { messages, schemas },
  };
}
