import type { Authenticator } from '../../declare/host.ts';
import type { Route } from '../../declare/route.ts';
import type { SentEvent } from '../../declare/sent-event.ts';
import type { Settings } from '../../platform/settings.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { createComponents } from './components.ts';
import type { Json } from './json.ts';
import { operationOf } from './operation.ts';
import { schemesOf, securitySchemes } from './security.ts';
import { sentEvents } from './sent-events.ts';
import { documentPaths, shownRoutes } from './shown-routes.ts';

/** What the document is made from. */
export interface DocumentParts {
  /** All routes of the app, in the order in which they are mounted. */
  routes: readonly Route[];
  resources: readonly CompiledResource[];
  authenticators: readonly Authenticator[];
  /** What the app sends. */
  sent: readonly SentEvent[];
  settings: Settings;
}

function tagsOf(operations: readonly Json[], resources: readonly CompiledResource[]): Json[] {
  const about = new Map(resources.map(({ name, declaration }) => [name, declaration.description]));
  const used = [...new Set(operations.flatMap((operation) => operation.tags as string[]))].sort();
  return used.map((name) => {
    const description = about.get(name);
    return description === undefined ? { name } : { name, description };
  });
}

/** The OpenAPI 3.1 document of an app (https://spec.openapis.org/oas/v3.1.1.html): all that its routes take and answer. */
export function createDocument({ routes, resources, authenticators, sent, settings }: DocumentParts): Json {
  const { title, version, description } = settings.openapi;
  const components = createComponents(resources, settings.unknownFields);
  const schemes = schemesOf(authenticators);
  const parts = { resources: new Map(resources.map((one) => [one.name, one])), schemes, settings, components };
  const paths: Record<string, Json> = {};
  const shown = shownRoutes(routes);
  const pathOf = documentPaths(shown);
  const operations = shown.map((route) => {
    const path = pathOf(route);
    const operation = operationOf(route, path, parts);
    paths[path] = { ...paths[path], [route.method.toLowerCase()]: operation };
    return operation;
  });
  const webhooks = sentEvents(sent, new Set(operations.map(({ operationId }) => operationId as string)), components);
  return {
    openapi: '3.1.1',
    info: { title, version, ...(description === undefined ? {} : { description }) },
    servers: [{ url: '/' }],
    tags: tagsOf(operations, resources),
    paths,
    ...(sent.length === 0 ? {} : { webhooks }),
    components: { securitySchemes: securitySchemes(schemes), ...components.all() },
  };
}
