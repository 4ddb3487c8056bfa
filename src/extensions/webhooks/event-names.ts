import type { ResourceView } from '../../declare/host.ts';

/** The event of a test, to which nobody subscribes. */
export const TEST_EVENT = 'webhook.test';

const ACTIONS = ['created', 'updated', 'deleted'];

/** Every event name that an endpoint may subscribe to, `*` last. */
export function eventNames(resources: readonly ResourceView[]): string[] {
  const sent = resources.filter((view) => view.declaration.webhooks !== false);
  return [...sent.flatMap((view) => [...ACTIONS, '*'].map((action) => `${view.name}.${action}`)), '*'];
}

/** The names under which an event may be subscribed to: its own, all of its resource, all. */
export function subscribableAs(resource: string, name: string): string[] {
  return [name, `${resource}.*`, '*'];
}
