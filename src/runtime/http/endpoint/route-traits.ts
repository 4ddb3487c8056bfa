import type { Route } from '../../../declare/route.ts';
import type { Records } from '../../../records/index.ts';
import type { Entity } from '../../../records/store/entity.ts';

/** Whether a path refers to one record of a resource. */
export function isItemPath(path: string): boolean {
  return /\/:id(\/|$)/.test(path);
}

/** Whether responses of a route get an entity tag. Those of account routes get none: they contain tokens and must not be cached. */
export function hasEntityTag({ path }: Route): boolean {
  return !/^\/auth(\/|$)/.test(path);
}

/** The resource of a route; undefined if it has none. */
export function findEntity({ resource }: Route, { entities }: Records): Entity | undefined {
  return resource === undefined ? undefined : entities.get(resource);
}

/** The resource of a route whose path refers to one of its records; undefined for other routes. */
export function findItemEntity(route: Route, records: Records): Entity | undefined {
  return isItemPath(route.path) ? findEntity(route, records) : undefined;
}

/** The status of a route's response with a value. */
export function statusOf({ status = 200 }: Route): number {
  return status;
}
