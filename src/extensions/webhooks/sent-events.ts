import { z } from 'zod';
import type { SentEvent } from '../../declare/events.ts';
import type { ResourceGateway } from '../../declare/host.ts';
import { recordShape } from '../../declare/record-shape.ts';
import type { StandardSchema } from '../../declare/standard-schema.ts';
import { recordEventNames, sentResources, TEST_EVENT } from './event-names.ts';
import type { EventDeclarations } from './published-events.ts';

const HEADERS = {
  'webhook-id': 'The message: the same on every attempt.',
  'webhook-timestamp': 'When this attempt is made, in Unix seconds.',
  'webhook-signature': 'Signatures of `id.timestamp.body`, separated by spaces; see https://www.standardwebhooks.com.',
};

/** Every event that endpoints get, for the OpenAPI document. */
export function sentEvents(resources: readonly ResourceGateway[], published: EventDeclarations): SentEvent[] {
  const event = (name: string, summary: string, data: StandardSchema): SentEvent => ({
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
    ...sentResources(resources).flatMap((gateway) =>
      recordEventNames(gateway).map((name) =>
        event(name, `A ${gateway.name} was ${name.slice(gateway.name.length + 1)}`, recordShape(gateway.name)),
      ),
    ),
    ...Object.entries(published).map(([name, { schema, description }]) => event(name, description ?? name, schema)),
    event(TEST_EVENT, 'Somebody tests the endpoint', z.object({ webhook: z.string() })),
  ];
}
