import { type Deprecation, isHttpUrl, parseDeprecationDate, parseReplacement } from '../../declare/deprecation.ts';
import type { FieldSpec, Fields } from '../../declare/field.ts';
import { ACTIONS, type AnyResource, deprecationOfAllRoutes } from '../../declare/resource.ts';
import type { Route } from '../../declare/route.ts';
import type { ConfigErrors } from '../../platform/helpers/config-errors.ts';
import { suggestClosestName, suggestKnownNames } from '../../platform/helpers/did-you-mean.ts';

const OPTIONS = ['since', 'sunset', 'use', 'link'];
const DATE_FORM = "write a date such as '2026-11-01', or with a time, '2026-11-01T12:00:00Z'";

function checkDate(value: unknown, errors: ConfigErrors): number | undefined {
  const seconds = parseDeprecationDate(value);
  if (seconds === undefined) errors.report(`${JSON.stringify(value)} is not a date; ${DATE_FORM}`);
  return seconds;
}

/**
 * Checks the deprecation of a field or of routes, except that its replacement exists.
 *
 * @param alternatives the names of options that the place of the declaration allows instead
 */
function checkDeclaration(value: unknown, errors: ConfigErrors, alternatives: readonly string[] = []): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    errors.report("must be an object such as { since: '2026-11-01' }");
    return;
  }
  const { since, sunset, use, link } = value as Partial<Record<keyof Deprecation, unknown>>;
  for (const key of Object.keys(value)) {
    if (!OPTIONS.includes(key))
      errors.report(`"${key}" is not an option${suggestKnownNames(key, 'options', [...OPTIONS, ...alternatives])}`);
  }
  if (since === undefined) errors.at('since').report(`the date is missing; ${DATE_FORM}`);
  const start = since === undefined ? undefined : checkDate(since, errors.at('since'));
  const end = sunset === undefined ? undefined : checkDate(sunset, errors.at('sunset'));
  if (start !== undefined && end !== undefined && end < start)
    errors.at('sunset').report(`${sunset} is before since, ${since}; choose a later date`);
  if (use !== undefined && (typeof use !== 'string' || use === ''))
    errors.at('use').report("must be a text that names the replacement, such as 'GET /api/posts/:id'");
  if (link !== undefined && !isHttpUrl(link))
    errors.at('link').report(`${JSON.stringify(link)} is not an http:// or https:// URL`);
}

/** Checks the deprecation of a field by itself: `checkReplacementFields` and `checkReplacementRoutes` check `use`. */
export function checkFieldDeprecation(value: unknown, errors: ConfigErrors): void {
  checkDeclaration(value, errors);
}

/** Checks the deprecation of routes by itself: `checkReplacementRoutes` checks that its replacement exists. */
export function checkRouteDeprecation(
  value: unknown,
  errors: ConfigErrors,
  alternatives: readonly string[] = [],
): void {
  checkDeclaration(value, errors, alternatives);
  const use: unknown = (value as Partial<Deprecation> | null)?.use;
  if (typeof use === 'string' && use !== '' && 'field' in parseReplacement(use))
    errors
      .at('use')
      .report(`"${use}" must be a route with its method and full path, such as "GET /api/posts/:id", or a URL`);
}

/** Checks the option `deprecated` of a resource: a deprecation, or deprecations by action. */
export function checkResourceDeprecation({ deprecated, crud = true }: AnyResource, errors: ConfigErrors): void {
  if (deprecated === undefined) return;
  const byAction = deprecated as Record<string, unknown>;
  if ('since' in byAction || !ACTIONS.some((action) => action in byAction)) {
    checkRouteDeprecation(deprecated, errors, ACTIONS);
    return;
  }
  const routed: readonly string[] = Array.isArray(crud) ? crud : crud === false ? [] : ACTIONS;
  for (const [action, deprecation] of Object.entries(byAction)) {
    const at = errors.at(action);
    if (!(ACTIONS as readonly string[]).includes(action))
      at.report(`unknown action${suggestKnownNames(action, 'actions', ACTIONS)}`);
    else if (!routed.includes(action)) at.report('the action has no route; add it to crud, or remove it here');
    else if (deprecation !== undefined) checkRouteDeprecation(deprecation, at);
  }
}

/** The paths of the fields in a declaration, with those inside objects and arrays: `title`, `address.city`, `lines[].text`. */
function listFieldPaths(fields: Fields, prefix = ''): string[] {
  return Object.entries(fields).flatMap(([name, { spec }]) => {
    const path = prefix + name;
    const items = spec.inner?.spec;
    return [
      path,
      ...(spec.shape === undefined ? [] : listFieldPaths(spec.shape, `${path}.`)),
      ...(items?.shape === undefined ? [] : listFieldPaths(items.shape, `${path}[].`)),
    ];
  });
}

/**
 * Checks that the fields that replace a deprecated field, or fields inside it, are fields of the resource.
 *
 * @param at returns the collector for errors of the field with this path
 */
export function checkReplacementFields(
  path: string,
  { deprecated, shape, inner }: FieldSpec,
  fields: Fields,
  at: (path: string) => ConfigErrors,
): void {
  if (typeof deprecated?.use === 'string' && deprecated.use !== '') {
    const errors = at(path).at('deprecated()').at('use');
    const replacement = parseReplacement(deprecated.use);
    const known = listFieldPaths(fields);
    if ('field' in replacement && replacement.field === path) errors.report('names the field itself; name another');
    else if ('field' in replacement && !known.includes(replacement.field)) {
      const hint = suggestClosestName(replacement.field, known);
      errors.report(
        `"${replacement.field}" is neither a field of this resource, nor a route such as "GET /api/posts", nor a URL${hint}`,
      );
    }
  }
  for (const [name, member] of Object.entries(shape ?? {}))
    checkReplacementFields(`${path}.${name}`, member.spec, fields, at);
  if (inner !== undefined) checkReplacementFields(`${path}[]`, inner.spec, fields, at);
}

/** The deprecations that are declared with a resource and its fields, each with its place. */
function deprecationsOfResource(resource: AnyResource): { place: string[]; deprecation: Deprecation }[] {
  const placesInField = (path: string, { deprecated, shape, inner }: FieldSpec): [string, Deprecation][] => [
    ...(deprecated === undefined ? [] : [[path, deprecated] as [string, Deprecation]]),
    ...Object.entries(shape ?? {}).flatMap(([name, member]) => placesInField(`${path}.${name}`, member.spec)),
    ...(inner === undefined ? [] : placesInField(`${path}[]`, inner.spec)),
  ];
  const inFields = Object.entries(resource.fields as Fields)
    .flatMap(([name, { spec }]) => placesInField(name, spec))
    .map(([path, deprecation]) => ({ place: [`field "${path}"`, 'deprecated()'], deprecation }));
  const ofAll = deprecationOfAllRoutes(resource);
  const byAction =
    ofAll === undefined ? Object.entries((resource.deprecated ?? {}) as Record<string, Deprecation>) : [];
  return [
    ...(ofAll === undefined ? [] : [{ place: ['deprecated'], deprecation: ofAll }]),
    ...byAction
      .filter(([, deprecation]) => deprecation !== undefined)
      .map(([action, deprecation]) => ({ place: ['deprecated', action], deprecation })),
    ...inFields,
  ];
}

/**
 * Checks that the routes that replace deprecated routes and fields exist.
 *
 * @param app `routes` have paths below `/api`, `pages` have full paths
 */
export function checkReplacementRoutes(
  resources: readonly AnyResource[],
  app: { routes: readonly Route[]; pages: readonly Route[] },
  errors: ConfigErrors,
): void {
  const normalizePath = (method: string, path: string) => `${method} ${path.replace(/:\w+/g, ':')}`;
  const withFullPaths = [...app.routes.map((route) => ({ ...route, path: `/api${route.path}` })), ...app.pages];
  const known = new Map(withFullPaths.map(({ method, path }) => [normalizePath(method, path), `${method} ${path}`]));
  const declared = resources.flatMap((resource) =>
    deprecationsOfResource(resource).map(({ place, deprecation }) => ({
      deprecation,
      at: place.reduce((at, part) => at.at(part), errors.at(`resource "${resource.name}"`)),
    })),
  );
  // The routes of a deprecated resource share its deprecation, which is reported once.
  const reported = new Set(declared.map(({ deprecation }) => deprecation));
  const ofRoutes = withFullPaths.flatMap(({ method, path, deprecated }) => {
    if (deprecated === undefined || reported.has(deprecated)) return [];
    return [{ deprecation: deprecated, at: errors.at(`route ${method} ${path}`).at('deprecated') }];
  });
  for (const { deprecation, at } of [...declared, ...ofRoutes]) {
    const replacement = deprecation.use === undefined ? undefined : parseReplacement(deprecation.use);
    if (replacement === undefined || !('route' in replacement)) continue;
    const { method, path } = replacement.route;
    if (known.has(normalizePath(method, path))) continue;
    const hint = suggestClosestName(deprecation.use!, known.values());
    at.at('use').report(`"${deprecation.use}" is not a route of this app${hint}`);
  }
}
