import type { SentEvent } from '../../declare/sent-event.ts';
import type { Components } from './components.ts';
import type { Json } from './json.ts';
import { pascalCase } from './operation-id.ts';
import { shapeSchema } from './shape.ts';

const ANSWER = { '2XX': { description: 'It was received. Any other answer, or none in time, is a failure.' } };

function operationIdFor(name: string, taken: ReadonlySet<string>): string {
  const wanted = `on${pascalCase(name)}`;
  return taken.has(wanted) ? `${wanted}Event` : wanted;
}

/**
 * The `webhooks` of the document (https://spec.openapis.org/oas/v3.1.1.html#oas-webhooks): what the app sends, by the names of the
 * events.
 *
 * @param taken operationIds of the routes
 */
export function sentEvents(events: readonly SentEvent[], taken: ReadonlySet<string>, components: Components): Json {
  const items = events.map(({ name, summary, headers, data, body, tags }) => {
    const parameters = Object.entries(headers).map(([header, description]) =>
      components.named('parameters', pascalCase(header), {
        name: header,
        in: 'header',
        required: true,
        description,
        schema: { type: 'string' },
      }),
    );
    const schema = body(shapeSchema(data, 'output', `${pascalCase(name)}Data`, components));
    const operation = {
      operationId: operationIdFor(name, taken),
      summary,
      tags,
      security: [],
      parameters,
      requestBody: { required: true, content: { 'application/json': { schema } } },
      responses: ANSWER,
    };
    return [name, { post: operation }];
  });
  return Object.fromEntries(items);
}
