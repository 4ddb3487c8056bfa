import type { Authenticator } from '../../declare/authenticator.ts';
import type { SentEvent } from '../../declare/events.ts';
import type { Route } from '../../declare/route.ts';
import { memoizeAsync, prepareContent, sendContent } from '../../platform/http/served-bytes.ts';
import type { Settings } from '../../platform/settings/settings.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { compileFieldUses } from '../http/deprecation/field-uses.ts';
import { createComponents } from './components.ts';
import { docsPageRoutes } from './docs-page.ts';
import { createDocumentPathLookup, pascalCase, selectDocumentedRoutes } from './documented-routes.ts';
import { buildOperation, createSecuritySchemes, listSignInSchemes } from './operation.ts';
import { describeResource } from './resource-facts.ts';
import type { Components, Json } from './schema.ts';
import { shapeSchema } from './shape.ts';

/** The inputs of an app's OpenAPI document. */
interface DocumentParts {
  /** All routes of the app, in the order of mounting. */
  routes: readonly Route[];
  resources: readonly CompiledResource[];
  authenticators: readonly Authenticator[];
  /** The events that the app sends to webhook endpoints. */
  sent: readonly SentEvent[];
  settings: Settings;
}

function tagsOf(operations: readonly Json[], resources: readonly CompiledResource[]): Json[] {
  const descriptions = new Map(resources.map(({ name, declaration }) => [name, declaration.description]));
  const used = [...new Set(operations.flatMap((operation) => operation.tags as string[]))].sort();
  return used.map((name) => {
    const description = descriptions.get(name);
    return description === undefined ? { name } : { name, description };
  });
}

const EVENT_RESPONSES = {
  '2XX': {
    description: 'The event was received. Any other response, or none within the timeout, is a failed attempt.',
  },
};

function chooseOperationId(name: string, taken: ReadonlySet<string>): string {
  const wanted = `on${pascalCase(name)}`;
  return taken.has(wanted) ? `${wanted}Event` : wanted;
}

/**
 * Creates the `webhooks` of the document (https://spec.openapis.org/oas/v3.1.1.html#oas-webhooks): the events that the app sends, by name.
 *
 * @param taken the operationIds of the routes, which the events must not use
 */
function createEventWebhooks(events: readonly SentEvent[], taken: ReadonlySet<string>, components: Components): Json {
  const items = events.map(({ name, summary, headers, data, body, tags }) => {
    const parameters = Object.entries(headers).map(([header, description]) =>
      components.addPart('parameters', pascalCase(header), {
        name: header,
        in: 'header',
        required: true,
        description,
        schema: { type: 'string' },
      }),
    );
    const schema = body(shapeSchema(data, 'output', `${pascalCase(name)}Data`, components));
    const operation = {
      operationId: chooseOperationId(name, taken),
      summary,
      tags,
      security: [],
      parameters,
      requestBody: { required: true, content: { 'application/json': { schema } } },
      responses: EVENT_RESPONSES,
    };
    return [name, { post: operation }];
  });
  return Object.fromEntries(items);
}

/**
 * Creates the OpenAPI 3.1 document of an app (https://spec.openapis.org/oas/v3.1.1.html): all requests that its routes accept, with their
 * responses.
 */
export function createOpenApiDocument({ routes, resources, authenticators, sent, settings }: DocumentParts): Json {
  const { title, version, description } = settings.openapi;
  const components = createComponents(resources, settings.unknownFields);
  const schemes = listSignInSchemes(authenticators);
  const byName = new Map(resources.map((each) => [each.name, each]));
  const parts = { resources: byName, schemes, settings, components, fieldUses: compileFieldUses(byName) };
  const paths: Record<string, Json> = {};
  const documented = selectDocumentedRoutes(routes);
  const toDocumentPath = createDocumentPathLookup(documented);
  const operations = documented.map((route) => {
    const path = toDocumentPath(route);
    const operation = buildOperation(route, path, parts);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation };
    return operation;
  });
  const webhooks = createEventWebhooks(
    sent,
    new Set(operations.map(({ operationId }) => operationId as string)),
    components,
  );
  const facts = resources.flatMap((resource) => describeResource(resource, components) ?? []);
  return {
    openapi: '3.1.1',
    info: { title, version, ...(description === undefined ? {} : { description }) },
    servers: [{ url: '/' }],
    tags: tagsOf(operations, resources),
    paths,
    ...(sent.length === 0 ? {} : { webhooks }),
    components: { securitySchemes: createSecuritySchemes(schemes), ...components.partsBySection() },
    'x-resources': facts,
  };
}

const DOCUMENT_HEADERS = { 'Cache-Control': 'no-cache' };

/** The route that serves a document. @param create called once, at the first request: by then all routes of the app are known */
function documentRoute(path: string, create: () => Json): Route {
  const document = memoizeAsync(() =>
    prepareContent('application/json; charset=utf-8', Buffer.from(JSON.stringify(create())), DOCUMENT_HEADERS),
  );
  return {
    method: 'GET',
    path,
    policy: 'public',
    hidden: true,
    async handler({ req, res }) {
      sendContent(req, res, await document());
    },
  };
}

/** The descriptions of an app for tools. */
export interface Documents {
  openApi: () => Json;
  /** The events that the app sends to webhook endpoints. */
  asyncApi: () => Json;
}

/**
 * The routes `GET /api/openapi.json` and `GET /api/asyncapi.json`, and the reference at `GET /api/docs`.
 *
 * @param sendsEvents whether the app sends events to webhook endpoints. Otherwise it has no AsyncAPI document
 */
export function documentRoutes({ openapi }: Settings, documents: Documents, sendsEvents: boolean): Route[] {
  if (!openapi.enabled) return [];
  return [
    documentRoute('/openapi.json', documents.openApi),
    ...(sendsEvents ? [documentRoute('/asyncapi.json', documents.asyncApi)] : []),
    ...(openapi.docs ? docsPageRoutes(openapi.title) : []),
  ];
}
