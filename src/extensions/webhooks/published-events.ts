import type { z } from 'zod';
import type { ResourceGateway } from '../../declare/host.ts';
import type { StandardSchema } from '../../declare/standard-schema.ts';
import type { ConfigErrors } from '../../platform/config-errors.ts';
import { eventNames } from './event-names.ts';

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

function errorOf(name: string, { schema, description }: Partial<EventDeclaration>): string | undefined {
  if (!NAME.test(name)) return 'the name must look like "invoice.paid"';
  if (PLATFORM.includes(name.split('.')[0]!)) return `names that begin with ${PLATFORM.join(', ')} are the platform's`;
  if (typeof schema?.['~standard']?.validate !== 'function') return 'it needs a schema: zod, or any Standard Schema';
  return description === undefined || typeof description === 'string' ? undefined : 'the description must be a text';
}

/** Checks the setting `events`. */
export function checkEvents(events: unknown, context: z.RefinementCtx): void {
  const report = (message: string) => context.addIssue({ code: 'custom', message });
  if (typeof events !== 'object' || events === null) {
    report('must be an object of events by name');
    return;
  }
  for (const [name, declared] of Object.entries(events as Record<string, EventDeclaration | null>)) {
    const error = errorOf(name, declared ?? {});
    if (error !== undefined) report(`"${name}": ${error}`);
  }
}

/** Reports the events whose names are those of changes of records. */
export function checkEventNames(
  events: EventDeclarations,
  resources: readonly ResourceGateway[],
  errors: ConfigErrors,
): void {
  const taken = new Set(eventNames(resources, []));
  for (const name of Object.keys(events)) {
    if (taken.has(name))
      errors.at(`webhooks.events: "${name}"`).report('changes of records are called that; choose another name');
  }
}
