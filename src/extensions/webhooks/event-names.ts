import { recordActions } from '../../declare/events.ts';
import type { ResourceGateway } from '../../declare/host.ts';

/** The event of a test, to which nobody subscribes. */
export const TEST_EVENT = 'webhook.test';

/** The names of all events of a resource. */
export function recordEventNames({ name, declaration }: ResourceGateway): string[] {
  return recordActions(declaration).map((action) => `${name}.${action}`);
}

/** The resources whose events are sent. */
export function sentResources(resources: readonly ResourceGateway[]): ResourceGateway[] {
  return resources.filter((gateway) => gateway.declaration.webhooks !== false);
}

const allOf = (name: string) => `${name.slice(0, name.indexOf('.'))}.*`;

/**
 * Every event name that an endpoint may subscribe to, `*` last.
 *
 * @param published the app's own events
 */
export function eventNames(resources: readonly ResourceGateway[], published: readonly string[]): string[] {
  const names = [...sentResources(resources).flatMap(recordEventNames), ...published];
  const groups = Map.groupBy(names, allOf);
  return [...[...groups].flatMap(([all, own]) => [...own, all]), '*'];
}

/** The names under which an event may be subscribed to: its own, all of its resource, all. */
export function subscribableAs(name: string): string[] {
  return [name, allOf(name), '*'];
}
