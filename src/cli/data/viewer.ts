import type { OpenedApp } from '../project/project.ts';

/** A user on whose behalf a command runs. */
export type Viewer = NonNullable<Parameters<ReturnType<OpenedApp['bulk']['resource']>['read']>[1]>;

/**
 * Reads the user that a command names.
 *
 * @returns undefined if the command names none: it then runs as the system
 * @throws Error if there is no such user
 */
export async function readViewer(app: OpenedApp, id: string | undefined): Promise<Viewer | undefined> {
  if (id === undefined) return undefined;
  if (app.accounts === undefined) throw new Error('--user: this app has no accounts.');
  const user = await app.service('user').first({ id });
  if (user === undefined) throw new Error(`--user ${id}: there is no user with this id.`);
  return user as Viewer;
}
