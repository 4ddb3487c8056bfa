import type { Exports } from './store.ts';

type Changed = { user: { id: string } };

/**
 * Removes the exports that somebody asked for when their password is changed or reset: whoever was signed in as them may have the
 * links. Listeners of events, by name.
 */
export function removeWithPassword({ removeAskedBy }: Pick<Exports, 'removeAskedBy'>) {
  const remove = ({ user }: Changed) => removeAskedBy(user.id);
  return { 'auth.password_changed': remove, 'auth.password_reset': remove };
}
