import {
  defineExtension,
  type Extension,
  findOrganisations,
  quoteIdentifier,
  StartupError,
} from '../../extension/index.ts';
import { createApiKeyPanel } from './account-panel.ts';
import { adminKeyRoutes } from './admin-routes.ts';
import { createAuthenticator } from './authenticator.ts';
import { organisationKeyRoutes } from './organisation-routes.ts';
import { ownKeyRoutes } from './routes.ts';
import { createScopes, type Scopes } from './scopes.ts';
import { type ApiKeyOptions, apiKeySettings } from './settings.ts';
import { apiKeyTable } from './sql.ts';
import { createKeyStore } from './store.ts';
import { createKeyRowParts } from './user-data.ts';

export type { ApiKeyOptions } from './settings.ts';

/** `app.apiKeys`. */
export interface ApiKeysApi {
  /** Revokes a key by its id. Returns false if there is no such key or it is already revoked. */
  revoke(id: string): Promise<boolean>;
}

/**
 * API keys: users create keys with scopes for scripts that act on their behalf, or on behalf of an organisation.
 *
 * @example createApp({ resources, extensions: [apiKeys({ maxLifetimeDays: 90 })] }, process.env)
 */
export function apiKeys(options: ApiKeyOptions = {}): Extension<'apiKeys', ApiKeysApi> {
  return defineExtension({
    name: 'apiKeys',
    tables: { api_keys: apiKeyTable },
    settings: apiKeySettings,
    options,
    setup(host, settings) {
      const { accounts, users } = host;
      if (accounts === undefined || users === undefined) {
        throw new StartupError('apiKeys() cannot work:', [
          'API keys belong to users; declare a user resource with defineUser()',
        ]);
      }
      let cachedScopes: Scopes | undefined;
      const getScopes = () => {
        cachedScopes ??= createScopes(host.routes(), settings);
        return cachedScopes;
      };
      const organisations = findOrganisations(host.resources);
      // Complete once all features are set up.
      const getAccess = () => host.organisationAccess()!;
      const keys = createKeyStore(host, accounts, { users, organisations }, settings);
      const api: ApiKeysApi = { revoke: (id) => keys.revoke(id, { reason: 'script', by: null }) };
      return {
        routes: [
          ...ownKeyRoutes(host, accounts, keys, getScopes, settings),
          ...adminKeyRoutes(host, { users, organisations }, keys),
          ...(organisations === undefined
            ? []
            : organisationKeyRoutes(host, accounts, { keys, settings, getScopes, getAccess })),
        ],
        accountPanels: [createApiKeyPanel(host, keys)],
        authenticators: [
          createAuthenticator(
            host,
            users,
            organisations && { table: quoteIdentifier(organisations.table), roles: () => getAccess().roles },
            (route) => getScopes().scopesFor(route),
          ),
        ],
        ...createKeyRowParts(host.database, users),
        revocationStep: keys.revokeForUsers,
        checkConfig(errors) {
          cachedScopes = createScopes(host.routes(), settings, errors);
        },
        api,
      };
    },
  });
}
