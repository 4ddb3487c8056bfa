import type { ResourceGateway } from '../../declare/host.ts';
import type { StandardSchema } from '../../declare/standard-schema.ts';
import { eventNames } from './events.ts';

/** An event of the app's own, as a project declares it. */
export interface EventDeclaration {
  /** What its data must be: zod, or any Standard Schema. What the schema makes of the data is what is sent. */
  schema: StandardSchema;
  /** When it happens, for the OpenAPI document. */
  description?: string;
}

/** The app's own events by name: `invoice.paid`. */
export type EventDeclarations = Readonly<Record<string, EventDeclaration>>;

/** What code passes as the data of an event. */
export type EventData<E extends EventDeclaration> = NonNullable<E['schema']['~standard']['types']>['input'];

const NAME = /^[a-z][a-z0-9-]{0,49}\.[a-z][a-z0-9_-]{0,49}$/;
// Events of the platform, which are told in the process and never sent.
const PLATFORM = ['auth', 'security', 'webhook', 'push'];

function faultOf(name: string, { schema, description }: Partial<EventDeclaration>): string | undefined {
  if (!NAME.test(name)) return 'the name must look like "invoice.paid"';
  if (PLATFORM.includes(name.split('.')[0]!)) return `names that begin with ${PLATFORM.join(', ')} are the platform's`;
  if (typeof schema?.['~standard']?.validate !== 'function') return 'it needs a schema: zod, or any Standard Schema';
  return description === undefined || typeof description === 'string' ? undefined : 'the description must be a text';
}

/** What is wrong with declarations of events, a line each. */
export function eventMistakes(events: unknown): string[] {
  if (events === undefined) return [];
  if (typeof events !== 'object' || events === null) return ['webhooks.events: must be an object of events by name'];
  return Object.entries(events as Record<string, EventDeclaration | null>).flatMap(([name, declared]) => {
    const fault = faultOf(name, declared ?? {});
    return fault === undefined ? [] : [`webhooks.events: "${name}": ${fault}`];
  });
}

/** The events whose names are those of changes of records, a line each. */
export function takenEventNames(events: EventDeclarations, resources: readonly ResourceGateway[]): string[] {
  const taken = new Set(eventNames(resources, []));
  const declared = Object.keys(events).filter((name) => taken.has(name));
  return declared.map((name) => `webhooks.events: "${name}": changes of records are called that; choose another name`);
}
