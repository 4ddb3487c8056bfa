import type { Services, Viewer } from 'belfry';

/** Whether a user is an agent or an owner of the organisation. For hooks: policies have the word `org:agent`. */
export async function isAgent(service: Services, user: Viewer | undefined, organisation: string): Promise<boolean> {
  if (user === undefined) return false;
  return (await service('membership').count({ user: user.id, organisation, role: { in: ['owner', 'agent'] } })) > 0;
}
