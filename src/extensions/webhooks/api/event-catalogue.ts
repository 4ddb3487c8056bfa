import { z } from 'zod';
import {
  ApiError,
  type ExtensionHost,
  type Fields,
  memoizeAsync,
  type ResourceGateway,
  type Route,
  type Viewer,
} from '../../../extension/index.ts';
import { listSentEvents, listSentResources, TEST_EVENT } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { createSample } from './event-samples.ts';
import type { EndpointAccess } from './organisation-endpoints.ts';

type Json = Readonly<Record<string, unknown>>;

const eventShape = z.strictObject({
  name: z.string(),
  description: z.string().meta({ description: 'When the event happens.' }),
});

/** The shape of an event with its schema in responses. */
const eventDetailsShape = eventShape
  .extend({
    schema: z.record(z.string(), z.unknown()).meta({
      description:
        'The JSON Schema (2020-12) of the body. Fields that the owner of the endpoint may not see are absent from bodies.',
    }),
    sample: z.record(z.string(), z.unknown()).meta({ description: 'A body with invented values.' }),
    filters: z.array(z.strictObject({ field: z.string(), operators: z.array(z.string()) })).meta({
      description:
        'The fields that you may use in filters of this event, besides those of related records. Empty for events of the app.',
    }),
    changed: z.array(z.string()).meta({
      description: 'The fields that the condition `changed` may contain. Empty unless the event is an update.',
    }),
  })
  .meta({ id: 'WebhookEvent' });

const eventQuery = z.strictObject({
  name: z
    .string({ error: 'Must be the name of an event' })
    .meta({ description: 'The name of the event: `post.created`.' }),
});

const REFERENCE = '#/components/schemas/';

/** Returns a copy of a schema whose references lead to `$defs`. Adds the names that it refers to. */
function moveReferences(schema: unknown, names: Set<string>): unknown {
  if (Array.isArray(schema)) return schema.map((item) => moveReferences(item, names));
  if (typeof schema !== 'object' || schema === null) return schema;
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => {
      if (key !== '$ref' || typeof value !== 'string' || !value.startsWith(REFERENCE))
        return [key, moveReferences(value, names)];
      const name = value.slice(REFERENCE.length);
      names.add(name);
      return [key, `#/$defs/${name}`];
    }),
  );
}

/** Returns a schema of the OpenAPI document on its own: with all schemas that it refers to, directly or not, in `$defs`. */
function extractSchema(document: Json, schema: Json): Json {
  const { schemas = {} } = document.components as { schemas?: Json };
  const names = new Set<string>();
  const own = moveReferences(schema, names) as Json;
  // A set that grows while it is iterated: new names come last.
  const defs = Object.fromEntries([...iterateWhileGrowing(names, (name) => moveReferences(schemas[name], names))]);
  return names.size === 0 ? own : { ...own, $defs: defs };
}

function* iterateWhileGrowing(names: Set<string>, read: (name: string) => unknown): Generator<[string, unknown]> {
  for (const name of names) yield [name, read(name)];
}

/** The names of the fields of a resource that any user might receive, judging only by the declaration. */
function listUsualFields({ declaration }: ResourceGateway): Set<string> {
  const fields = Object.entries(declaration.fields as Fields).filter(([, { spec }]) => spec.visibleTo === undefined);
  return new Set(['id', ...fields.map(([name]) => name), 'createdAt', 'updatedAt']);
}

/**
 * The routes of the event catalogue: every event that endpoints can subscribe to, with its schema and a sample. The schemas come from the
 * OpenAPI document, whether or not the app serves it.
 */
export function eventCatalogueRoutes(
  host: Pick<ExtensionHost, 'resources' | 'openApiDocument' | 'languages'>,
  settings: Pick<WebhookSettings, 'events' | 'policy'>,
  access: Pick<EndpointAccess, 'worksInOrganisation' | 'isSentToOrganisations'>,
): Route[] {
  const resources = new Map(listSentResources(host.resources).map((gateway) => [gateway.name, gateway]));
  const events = listSentEvents(host.resources, settings.events)
    .filter(({ name }) => name !== TEST_EVENT)
    .map(({ name, summary }) => ({ name, description: summary }));
  const readers = new Map(events.map((event) => [event.name, memoizeAsync(() => describeEvent(event))]));

  function describeEvent({ name, description }: { name: string; description: string }) {
    const document = host.openApiDocument();
    const { post } = (document.webhooks as Record<string, { post: Json }>)[name]!;
    const { content } = post.requestBody as { content: Record<string, { schema: Json }> };
    const schema = extractSchema(document, content['application/json']!.schema);
    const gateway = findGateway(name);
    const fields = gateway && listUsualFields(gateway);
    return { name, description, schema, sample: createSample(schema, fields) };
  }

  function findGateway(name: string): ResourceGateway | undefined {
    return settings.events[name] === undefined ? resources.get(name.slice(0, name.indexOf('.'))) : undefined;
  }

  /** Returns the fields that a user may use in filters of an event. */
  function listFilterFields(name: string, user: Viewer | undefined) {
    const { filters, changed } = findGateway(name)?.filterFields({ user }) ?? { filters: [], changed: [] };
    return { filters, changed: name.endsWith('.updated') ? changed : [] };
  }

  const common = { method: 'GET', policy: settings.policy, tags: ['webhooks'], organisationKeys: true } as const;
  return [
    {
      ...common,
      path: '/webhooks/events',
      summary: 'List the events that webhook endpoints can subscribe to; in an organisation, those of its endpoints',
      output: eventShape.array(),
      errors: [],
      operationId: 'listWebhookEvents',
      handler({ req, user }) {
        const { members } = host.languages.for(req);
        const isListed = access.worksInOrganisation(user) ? access.isSentToOrganisations : () => true;
        return events.filter(({ name }) => isListed(name)).map((event) => members(event, ['description']));
      },
    },
    {
      ...common,
      path: '/webhooks/event',
      query: eventQuery,
      summary: 'Get the schema and a sample of an event',
      output: eventDetailsShape,
      errors: ['NOT_FOUND'],
      operationId: 'readWebhookEvent',
      async handler({ query, req, user }) {
        const { name } = query as z.output<typeof eventQuery>;
        const read = readers.get(name);
        if (read === undefined) throw new ApiError('NOT_FOUND', 'There is no event with this name');
        const details = { ...(await read()), ...listFilterFields(name, user) };
        return host.languages.for(req).members(details, ['description']);
      },
    },
  ];
}
