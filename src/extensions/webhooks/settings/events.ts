import { z } from 'zod';
import {
  type ConfigErrors,
  emittedActionsOf,
  type ResourceGateway,
  recordShape,
  type SentEvent,
  type StandardSchema,
} from '../../../extension/index.ts';

/** The name of test events. Endpoints cannot subscribe to it. */
export const TEST_EVENT = 'webhook.test';

/** Returns the names of all events of a resource. */
function recordEventNames({ name, declaration }: ResourceGateway): string[] {
  return emittedActionsOf(declaration).map((action) => `${name}.${action}`);
}

/** Returns the resources whose events are sent. */
export function listSentResources(resources: readonly ResourceGateway[]): ResourceGateway[] {
  return resources.filter((gateway) => gateway.declaration.webhooks !== false);
}

const wildcardOf = (name: string) => `${name.slice(0, name.indexOf('.'))}.*`;

/**
 * Returns every event name that an endpoint may subscribe to, with `*` last.
 *
 * @param published the app's own events
 */
export function listSubscribableNames(resources: readonly ResourceGateway[], published: readonly string[]): string[] {
  const names = [...listSentResources(resources).flatMap(recordEventNames), ...published];
  const groups = Map.groupBy(names, wildcardOf);
  return [...[...groups].flatMap(([all, own]) => [...own, all]), '*'];
}

/** Returns the names with which an endpoint subscribes to an event, such as `post.created`, `post.*` and `*`. */
export function listMatchingNames(name: string): string[] {
  return [name, wildcardOf(name), '*'];
}

/** The declaration of one of the app's own events. */
export interface EventDeclaration {
  /** The schema of the event's data: zod, or any Standard Schema. The output of the schema is sent. */
  schema: StandardSchema;
  /** When the event happens, in words, for the OpenAPI document. */
  description?: string;
}

/** The app's own events by name: `invoice.paid`. */
export type EventDeclarations = Readonly<Record<string, EventDeclaration>>;

/** The type of the data that code passes for an event. */
export type EventData<E extends EventDeclaration> = NonNullable<E['schema']['~standard']['types']>['input'];

const NAME = /^[a-z][a-z0-9-]{0,49}\.[a-z][a-z0-9_-]{0,49}$/;
// Prefixes of platform events, which are emitted within the process and never sent.
const PLATFORM_PREFIXES = ['auth', 'security', 'webhook', 'push'];

function findDeclarationError(name: string, { schema, description }: Partial<EventDeclaration>): string | undefined {
  if (!NAME.test(name)) return 'the name must look like "invoice.paid"';
  if (PLATFORM_PREFIXES.includes(name.split('.')[0]!))
    return `names that begin with ${PLATFORM_PREFIXES.map((prefix) => `${prefix}.`).join(', ')} are reserved`;
  if (typeof schema?.['~standard']?.validate !== 'function') return 'it needs a schema: zod or another Standard Schema';
  return description === undefined || typeof description === 'string' ? undefined : 'the description must be a string';
}

/** Validates the setting `events`. */
export function validateEventDeclarations(events: unknown, context: z.RefinementCtx): void {
  const report = (message: string) => context.addIssue({ code: 'custom', message });
  if (typeof events !== 'object' || events === null) {
    report('must be an object of events by name');
    return;
  }
  for (const [name, declared] of Object.entries(events as Record<string, EventDeclaration | null>)) {
    const error = findDeclarationError(name, declared ?? {});
    if (error !== undefined) report(`"${name}": ${error}`);
  }
}

/** Reports a configuration error for each of the app's own events that has the name of a record change. */
export function reportTakenEventNames(
  events: EventDeclarations,
  resources: readonly ResourceGateway[],
  errors: ConfigErrors,
): void {
  const taken = new Set(listSubscribableNames(resources, []));
  for (const name of Object.keys(events)) {
    if (taken.has(name))
      errors.at(`webhooks.events: "${name}"`).report('a record change already has this name; choose another name');
  }
}

const HEADERS = {
  'webhook-id': 'The id of the message, the same on every attempt.',
  'webhook-timestamp': 'The time of this attempt, in Unix seconds.',
  'webhook-signature': 'Signatures of `id.timestamp.body`, separated by spaces; see https://www.standardwebhooks.com.',
};

/** Returns every event that endpoints receive, for the OpenAPI document. */
export function listSentEvents(resources: readonly ResourceGateway[], published: EventDeclarations): SentEvent[] {
  const createSentEvent = (name: string, summary: string, data: StandardSchema): SentEvent => ({
    name,
    summary,
    headers: HEADERS,
    data,
    body: (dataSchema) => ({
      type: 'object',
      properties: { type: { const: name }, timestamp: { type: 'string', format: 'date-time' }, data: dataSchema },
      required: ['type', 'timestamp', 'data'],
    }),
    tags: ['webhooks'],
  });
  return [
    ...listSentResources(resources).flatMap((gateway) =>
      recordEventNames(gateway).map((name) =>
        createSentEvent(
          name,
          `${/^[aeio]/i.test(gateway.name) ? 'An' : 'A'} ${gateway.name} was ${name.slice(gateway.name.length + 1)}`,
          recordShape(gateway.name),
        ),
      ),
    ),
    ...Object.entries(published).map(([name, { schema, description }]) =>
      createSentEvent(name, description ?? name, schema),
    ),
    createSentEvent(TEST_EVENT, 'A test of the endpoint was requested', z.object({ webhook: z.string() })),
  ];
}
