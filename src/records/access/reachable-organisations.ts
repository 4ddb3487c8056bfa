import type { Fields } from '../../declare/field.ts';
import type { ResourceGateway } from '../../declare/host.ts';
import type { Viewer } from '../../declare/policy.ts';

/** The name of a resource's field that holds the organisation of its records; undefined if they belong to none. */
export function findOrganisationField({ declaration }: Pick<ResourceGateway, 'declaration'>): string | undefined {
  return Object.entries(declaration.fields as Fields).find(([, { spec }]) => spec.tenant)?.[0];
}

/** The resource of organisations, in an app that has them; undefined in others, whatever their resources are called. */
export function findOrganisations<G extends Pick<ResourceGateway, 'name' | 'declaration'>>(
  resources: readonly G[],
): G | undefined {
  const hasOrganisations = resources.some((gateway) => findOrganisationField(gateway) !== undefined);
  return hasOrganisations ? resources.find(({ name }) => name === 'organisation') : undefined;
}

/** Finds the given organisations that a user no longer reaches, because the user has left or the organisation was deleted. */
export type FindUnreachableOrganisations = (organisations: readonly unknown[]) => Promise<ReadonlySet<unknown>>;

/**
 * Creates the search for the organisations that a user does not reach, for copies of data that outlive a membership. It looks up each organisation
 * once.
 */
export function createUnreachableOrganisationSearch(
  resources: readonly ResourceGateway[],
  user: Viewer,
): FindUnreachableOrganisations {
  const gateway = resources.find(({ name }) => name === 'organisation');
  const checked = new Map<unknown, boolean>();
  return async (organisations) => {
    const unknown = new Set(organisations.filter((id) => typeof id === 'string' && !checked.has(id)) as string[]);
    if (unknown.size > 0 && gateway !== undefined) {
      for (const id of unknown) checked.set(id, false);
      for (const record of await gateway.load([...unknown]))
        checked.set(record.id, await gateway.inScope(record, { user }));
    }
    return new Set(organisations.filter((id) => checked.get(id) === false));
  };
}
