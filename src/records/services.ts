import { resourceName } from '../declare/naming.ts';
import type { AnyService, Serviced, Services } from '../declare/service.ts';

/**
 * Gives services by declaration or by name, which may be written in any case.
 *
 * @param find gives the service of a normalised name
 * @param names of all that there are, for the error
 */
export function servicesBy(find: (name: string) => AnyService | undefined, names: readonly string[]): Services {
  return (resource: string | Serviced<unknown>): never => {
    const name = typeof resource === 'object' && resource !== null ? resource.name : resource;
    const found = find(resourceName(name));
    if (found === undefined) throw new Error(`there is no resource "${name}"; resources: ${names.join(', ')}`);
    return found as never;
  };
}
