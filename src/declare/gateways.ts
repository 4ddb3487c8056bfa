import { singularize } from 'inflection';
import type { ResourceGateway } from './host.ts';
import { normalizeResourceName } from './naming.ts';
import { formerNames } from './resource.ts';

/** The earlier names of a resource. A declaration may also name an earlier table: `posts` stands for `post`. */
export function formerResourceNames({ declaration }: Pick<ResourceGateway, 'declaration'>): string[] {
  return formerNames(declaration).flatMap((declared) => {
    const words = normalizeResourceName(declared).split('-');
    return [words.join('-'), [...words.slice(0, -1), singularize(words.at(-1)!)].join('-')];
  });
}

/**
 * The resources by name and by former name. A former name that another resource has now means that resource. Stored events and bodies keep
 * the name that the resource had when they were stored.
 */
export function gatewaysByName(resources: readonly ResourceGateway[]): ReadonlyMap<string, ResourceGateway> {
  const former = resources.flatMap((gateway) =>
    formerResourceNames(gateway).map((name): [string, ResourceGateway] => [name, gateway]),
  );
  return new Map([...former, ...resources.map((gateway): [string, ResourceGateway] => [gateway.name, gateway])]);
}

/** All names in a result of `gatewaysByName` that lead to one resource. */
export function namesOfGateway(
  gateways: ReadonlyMap<string, ResourceGateway>,
  gateway: Pick<ResourceGateway, 'name'>,
): string[] {
  return [...gateways].filter(([, one]) => one.name === gateway.name).map(([name]) => name);
}
