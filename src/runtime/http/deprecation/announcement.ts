import { type Deprecation, parseDeprecationDate, parseReplacement } from '../../../declare/deprecation.ts';

/** A deprecated route or field, compiled at start. */
export interface DeprecatedItem {
  kind: 'route' | 'field';
  /** As declared: `GET /api/posts/:id`, `post.subtitle`. */
  name: string;
  /** Unix seconds. */
  since: number;
  /** Unix seconds. */
  sunset: number | undefined;
  /** Values of `Link` that are the same for every request. */
  links: readonly string[];
  /** The segments of the path of the route that replaces it, some of them parameters (`:id`); undefined if the path is not a link. */
  successor: readonly string[] | undefined;
}

const linkTo = (target: string, relation: string) => `<${target}>; rel="${relation}"`;

/** Returns the segments of a replacement's path, if a request of the deprecated route determines the whole path. */
function findSuccessor(replacement: string, path: string): readonly string[] | undefined {
  const segments = replacement.split('/');
  const known = new Set(path.split('/'));
  // Wildcards and optional parts are not filled in. A route with another method on the same path is no other resource.
  const isLink = segments.every((segment) => (/^:\w+$/.test(segment) ? known.has(segment) : !/[*{}:]/.test(segment)));
  return isLink && replacement !== path ? segments : undefined;
}

/**
 * Compiles the deprecation of a route or a field, which must have passed the configuration checks.
 *
 * @param path the full path of the route; undefined for a field
 */
export function compileDeprecation(
  kind: DeprecatedItem['kind'],
  name: string,
  { since, sunset, use, link }: Deprecation,
  path?: string,
): DeprecatedItem {
  const replacement = use === undefined ? undefined : parseReplacement(use);
  const page = link === undefined ? undefined : new URL(link).href;
  return {
    kind,
    name,
    since: parseDeprecationDate(since)!,
    sunset: sunset === undefined ? undefined : parseDeprecationDate(sunset)!,
    links: [
      ...(page === undefined ? [] : [linkTo(page, 'deprecation')]),
      ...(page === undefined || sunset === undefined ? [] : [linkTo(page, 'sunset')]),
      ...(replacement !== undefined && 'url' in replacement
        ? [linkTo(new URL(replacement.url).href, 'successor-version')]
        : []),
    ],
    successor:
      path !== undefined && replacement !== undefined && 'route' in replacement
        ? findSuccessor(replacement.route.path, path)
        : undefined,
  };
}

/** Returns the link to the route that replaces a deprecated route, for a request with these path parameters; undefined if there is none. */
export function successorLink(
  { successor }: DeprecatedItem,
  params: Readonly<Record<string, unknown>>,
): string | undefined {
  if (successor === undefined) return undefined;
  const path = successor.map((segment) =>
    segment.startsWith(':') ? encodeURIComponent(String(params[segment.slice(1)])) : segment,
  );
  return linkTo(path.join('/'), 'successor-version');
}

/**
 * Returns the dates to announce for everything deprecated that a request uses: the earliest deprecation and the earliest sunset. No sunset
 * is before its own deprecation, so the earliest sunset is not before the earliest deprecation (RFC 9745 §4).
 *
 * @returns the values of the headers: `deprecation` for `Deprecation` (RFC 9745); `sunset` for `Sunset` (RFC 8594), undefined without any
 */
export function combineDates(items: readonly Pick<DeprecatedItem, 'since' | 'sunset'>[]): {
  deprecation: string;
  sunset: string | undefined;
} {
  const sunsets = items.flatMap(({ sunset }) => sunset ?? []);
  return {
    deprecation: `@${Math.min(...items.map(({ since }) => since))}`,
    sunset: sunsets.length === 0 ? undefined : new Date(Math.min(...sunsets) * 1000).toUTCString(),
  };
}
