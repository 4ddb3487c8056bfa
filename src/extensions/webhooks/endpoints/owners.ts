import {
  type Auth,
  createMicroBatch,
  createOrganisationViewer,
  DecryptionError,
  type ExtensionHost,
  findOrganisationField,
  findOrganisations,
  getOrganisationRole,
  type ResourceGateway,
  type StoredRecord,
  type Viewer,
  withReadLimit,
} from '../../../extension/index.ts';
import type { OwnerKey } from './endpoint.ts';
import type { KeyLimits } from './key-limits.ts';

/** The users and organisations that own endpoints. */
export interface EndpointOwners {
  users: ResourceGateway;
  /** Undefined in an app without organisations. */
  organisations: ResourceGateway | undefined;
  /** The organisation that a record belongs to; undefined if it belongs to none. */
  organisationOf(gateway: ResourceGateway, record: StoredRecord): string | undefined;
  /** The viewer that is an organisation. It sees records of other resources, in which its records are expanded, as a signed-out caller does. */
  toOrganisationViewer(organisation: string, role: string): Viewer;
  /** Loads an owner. Calls that begin while a statement runs share the next one. Undefined: there is no such user or organisation any more. */
  load(key: OwnerKey): Promise<Viewer | undefined>;
}

/** The resources whose records own endpoints. */
export type OwnerTables = Pick<EndpointOwners, 'users' | 'organisations'>;

/** The credential with the rights of an endpoint's owner, limited to scopes. An organisation reads only records of organisations. */
export function toOwnerAuth(viewer: Viewer, scopes: readonly string[]): Auth {
  const auth: Auth = { via: 'api-key', scopes, id: '' };
  return getOrganisationRole(viewer) === undefined ? auth : { ...auth, organisation: viewer.id };
}

const MAX_OWNERS_PER_READ = 100;

/** Creates the function that loads records of one resource by id, several in one statement. */
function createRecordLoader({ load }: Pick<ResourceGateway, 'load'>) {
  const loadTogether = createMicroBatch<string, StoredRecord | undefined>(async (ids) => {
    const found = new Map((await load([...new Set(ids)])).map((record) => [record.id, record]));
    return ids.map((id) => found.get(id));
  }, MAX_OWNERS_PER_READ);
  return async (id: string): Promise<StoredRecord | undefined> => {
    try {
      return await loadTogether(id);
    } catch (error) {
      // One record that cannot be decrypted fails the statement for all, so each is then read alone.
      if (!(error instanceof DecryptionError)) throw error;
      return (await load([id]))[0];
    }
  };
}

/** Creates the access to the owners of endpoints. */
export function createEndpointOwners(
  { resources }: Pick<ExtensionHost, 'resources'>,
  users: ResourceGateway,
  { findReadLimit }: Pick<KeyLimits, 'findReadLimit'>,
): EndpointOwners {
  const organisations = findOrganisations(resources);
  const fields = new Map(resources.map((gateway) => [gateway, findOrganisationField(gateway)]));
  const loadUser = createRecordLoader(users);
  const loadOrganisation = organisations && createRecordLoader(organisations);

  const toOrganisationViewer: EndpointOwners['toOrganisationViewer'] = (organisation, role) => {
    const viewer = createOrganisationViewer(organisation, role);
    return withReadLimit(viewer, findReadLimit(toOwnerAuth(viewer, ['*'])));
  };

  return {
    users,
    organisations,
    organisationOf(gateway, record) {
      if (gateway === organisations) return record.id;
      const field = fields.get(gateway);
      return field === undefined ? undefined : ((record[field] as string | undefined) ?? undefined);
    },
    toOrganisationViewer,
    async load({ owner, organisationRole }) {
      if (typeof organisationRole !== 'string') return loadUser(owner);
      return (await loadOrganisation?.(owner)) && toOrganisationViewer(owner, organisationRole);
    },
  };
}
