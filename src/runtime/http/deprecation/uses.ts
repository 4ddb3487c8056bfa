import type { IncomingMessage, ServerResponse } from 'node:http';
import { createPerRequestStore } from '../../../platform/http/per-request.ts';
import { combineDates, type DeprecatedItem } from './announcement.ts';

/** What a request has used so far, and the links that its response already has. */
interface Uses {
  items: Set<DeprecatedItem>;
  links: Set<string>;
}

const usesByRequest = createPerRequestStore<Uses>('deprecated uses');

/** The names of the deprecated routes and fields that a request used; undefined if it used none. */
export function getDeprecatedNames(req: IncomingMessage): string[] | undefined {
  const uses = usesByRequest.get(req);
  return uses && Array.from(uses.items, ({ name }) => name);
}

/**
 * Records that a request uses deprecated routes or fields, and announces them, together with those recorded earlier, in the headers of its
 * response.
 *
 * @param link a link for this request, besides the links of the items
 * @returns the items that were not recorded before
 */
export function announceUses(
  req: IncomingMessage,
  res: ServerResponse,
  items: Iterable<DeprecatedItem>,
  link?: string,
): DeprecatedItem[] {
  const uses: Uses = usesByRequest.get(req) ?? { items: new Set(), links: new Set() };
  const added = [...items].filter((item) => !uses.items.has(item));
  if (added.length === 0) return added;
  usesByRequest.set(req, uses);
  for (const item of added) uses.items.add(item);
  const { deprecation, sunset } = combineDates([...uses.items]);
  res.setHeader('Deprecation', deprecation);
  if (sunset !== undefined) res.setHeader('Sunset', sunset);
  for (const value of [...added.flatMap(({ links }) => links), ...(link === undefined ? [] : [link])]) {
    if (uses.links.has(value)) continue;
    uses.links.add(value);
    // Middleware may have added links of its own.
    res.appendHeader('Link', value);
  }
  return added;
}
