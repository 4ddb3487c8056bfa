import { type ActAs, isAccountActive, isId, type Viewer, validationError } from '../../../extension/index.ts';
import { runAsActor } from '../../../rules/acting.ts';
import type { DataContext } from './context.ts';

/** The viewer whose view a request asks for; undefined: that of an administrator, who sees everything. */
export type ChosenViewer = { user: Viewer | undefined } | undefined;

/**
 * Reads the parameter `as`: `system` or nothing, `visitor` for a caller who is not signed in, or the id of a user.
 *
 * @throws ApiError VALIDATION_ERROR if there is no such user, or if the user cannot sign in
 */
export async function readChosenViewer({ users }: DataContext, as: unknown): Promise<ChosenViewer> {
  if (as === undefined || as === '' || as === 'system') return undefined;
  if (as === 'visitor') return { user: undefined };
  const [user] = isId(as) ? await users.load([as]) : [];
  if (user === undefined) throw validationError({ as: 'Must be "system", "visitor" or the id of a user' });
  if (!isAccountActive(user))
    throw validationError({ as: 'This account is not active, so the API refuses every request of its user' });
  return { user };
}

/**
 * Runs reads as a viewer. Rules do not get the request of the administrator: its headers are not those of the viewer.
 *
 * @param work receives the options of service calls
 */
export function runAsViewer<T>({ user }: { user: Viewer | undefined }, work: (as: ActAs) => Promise<T>): Promise<T> {
  return runAsActor({ user, req: undefined, requestId: undefined }, () => work({ as: 'user', user }));
}
