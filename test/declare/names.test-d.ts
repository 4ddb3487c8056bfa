// Checked only by the compiler (`npm run check`): the types of names must equal the names that `defineResource` returns.
import { createApp, defineResource, f } from '../../src/index.ts';
import type { NAMES } from './resource-names.ts';

const fields = { a: f.string() };
const entry = defineResource('TimeEntry', { fields });

/** Whether two types are identical, rather than just assignable. */
type Same<A, B> = (<X>() => X extends A ? 1 : 2) extends <X>() => X extends B ? 1 : 2 ? true : false;

type Made<N extends string> = ReturnType<typeof defineResource<N, typeof fields>>['name'];
type Wrong = { [N in keyof typeof NAMES]: Same<Made<N>, (typeof NAMES)[N]> extends true ? never : N };

export const none: Same<Wrong[keyof Wrong], never> = true;

export function calls(name: string) {
  const app = createApp({ resources: [entry] }, {});
  app.on('time-entry.created', ({ record }) => record.a satisfies string | undefined);
  app.service('time-entry');
  app.service(entry);
  // @ts-expect-error the name of the resource is time-entry
  app.service('TimeEntry');
  // @ts-expect-error the name of the resource is time-entry
  entry.name satisfies 'TimeEntry';
  // Names that the compiler cannot derive have the type `string`.
  const loose: [Same<(typeof spaced)['name'], string>, Same<(typeof unknown)['name'], string>] = [true, true];
  const spaced = defineResource('time entry', { fields });
  const unknown = defineResource(name, { fields });
  return loose;
}
