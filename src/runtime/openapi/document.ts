import type { SentEvent } from '../../declare/events.ts';
import type { Authenticator } from '../../declare/host.ts';
import type { Route } from '../../declare/route.ts';
import { onDemand, type ServedBytes, sendBytes, servedBytes } from '../../platform/http/served-bytes.ts';
import type { Settings } from '../../platform/settings.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import { createComponents, sentEvents } from './components.ts';
import { docsFiles } from './docs-page.ts';
import { operationOf, schemesOf, securitySchemes } from './operation.ts';
import { operationIdOf } from './operation-ids.ts';
import type { Json } from './schema.ts';

/** A path without the names of its parameters: what makes two routes answer the same requests. */
function shapeOf(path: string): string {
  return path.replaceAll(/[:*]\w+/g, ':');
}

/** `/posts{/:page}` is two paths; the longer one first. */
function variants(path: string): string[] {
  const optional = /\{([^{}]*)\}/.exec(path);
  if (optional === null) return [path];
  const [before, after] = [path.slice(0, optional.index), path.slice(optional.index + optional[0].length)];
  return [...variants(before + optional[1] + after), ...variants(before + after)];
}

/** A route once for each path that it answers, each with an operationId of its own. */
function unfolded(route: Route): Route[] {
  const [first, ...others] = variants(route.path).map((path) => ({ ...route, path }));
  const named = others.map((one, i) => ({ ...one, operationId: `${operationIdOf(first!)}${i + 2}` }));
  return [first!, ...named];
}

/**
 * The routes in the document. Of two that answer the same requests the first one is mounted first: the second is
 * never reached, even if the first one is hidden.
 */
export function shownRoutes(routes: readonly Route[]): Route[] {
  const same = (route: Route) => `${route.method} ${shapeOf(route.path)}`;
  const reached = [...Map.groupBy(routes.flatMap(unfolded), same).values()].map(([first]) => first!);
  return reached.filter((route) => !route.hidden);
}

/** `/posts/:id` → `/api/posts/{id}`. Routes of one path share the names of its parameters: those of the CRUD routes, if any. */
export function documentPaths(routes: readonly Route[]): (route: Route) => string {
  const paths = new Map<string, string>();
  const named = [...routes.filter((route) => route.crud !== undefined), ...routes];
  for (const { path } of named) {
    const shape = shapeOf(path);
    if (!paths.has(shape)) paths.set(shape, `/api${path.replaceAll(/[:*](\w+)/g, '{$1}')}`);
  }
  return (route) => paths.get(shapeOf(route.path))!;
}

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

const DOCUMENT_HEADERS = { 'Cache-Control': 'no-cache' };

function route(path: string, ready: () => Promise<ServedBytes>): Route {
  return {
    method: 'GET',
    path,
    policy: 'public',
    hidden: true,
    async handler({ req, res }) {
      sendBytes(req, res, await ready());
    },
  };
}

/**
 * `GET /api/openapi.json`, and the reference at `GET /api/docs`.
 *
 * @param parts asked once, when the document is first wanted: by then all routes of the app are known
 */
export function openApiRoutes({ openapi }: Settings, parts: () => DocumentParts): Route[] {
  if (!openapi.enabled) return [];
  const document = onDemand(() =>
    servedBytes(
      'application/json; charset=utf-8',
      Buffer.from(JSON.stringify(createDocument(parts()))),
      DOCUMENT_HEADERS,
    ),
  );
  const docs = openapi.docs ? [...docsFiles(openapi.title)].map(([path, ready]) => route(path, ready)) : [];
  return [route('/openapi.json', document), ...docs];
}
