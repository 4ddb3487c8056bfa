import { ApiError, type ExtensionHost, type ResourceGateway } from '../../../extension/index.ts';
import { InputError } from '../../../records/schema/rule-errors.ts';

/** What the routes of the data browser work with. */
export interface DataContext {
  host: ExtensionHost;
  users: ResourceGateway;
  mode: 'development' | 'production';
  /** @throws ApiError NOT_FOUND for an unknown resource */
  gateway(name: string | undefined): ResourceGateway;
}

/** Creates the context of the data browser. */
export function createDataContext(host: ExtensionHost, users: ResourceGateway, mode: DataContext['mode']): DataContext {
  const gateways = new Map(host.resources.map((gateway) => [gateway.name, gateway]));
  return {
    host,
    users,
    mode,
    gateway(name) {
      const gateway = gateways.get(name ?? '');
      if (gateway === undefined) throw new ApiError('NOT_FOUND', 'There is no such resource');
      return gateway;
    },
  };
}

/**
 * Runs a service call whose input is that of the client. The call has system privilege, so its validation errors would count as errors of
 * the project's code, which clients do not receive.
 *
 * @throws ApiError VALIDATION_ERROR with a message per field; BAD_REQUEST for an invalid list query
 */
export async function withClientInput<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    if (!(error instanceof InputError)) throw error;
    const { code, message, details } = error;
    throw new ApiError(code, message, { ...(details && { details }), cause: error.cause });
  }
}
