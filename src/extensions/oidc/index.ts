import type { z } from 'zod';
import {
  defineExtension,
  type Extension,
  getAppUrl,
  StartupError,
  type VerifiedEmailFields,
  verifiedEmailFields,
} from '../../extension/index.ts';
import type { OidcContext } from './context.ts';
import { createProviderClient, type ProviderClient } from './provider/client.ts';
import { type OidcOptions, oidcSettings, type ProviderSettings } from './provider/settings.ts';
import { oidcRoutes } from './routes.ts';
import { createSimulatedServer, type SimulatedServer } from './simulated/server.ts';
import { oidcCodes, oidcFlows, oidcNonces, oidcTokens } from './sql.ts';
import { createOidcApi, encryptedOidcColumns, type OidcApi } from './tokens.ts';
import { createOidcRowParts } from './user-data.ts';

export type { OidcClaims, OidcOptions, OidcProviderOptions } from './provider/settings.ts';
export type { OidcApi } from './tokens.ts';

/** Creates the client of each provider, and the servers of simulated ones. */
function createClients(providers: Readonly<Record<string, ProviderSettings>>, baseUrl: string) {
  const clients = new Map<string, ProviderClient>();
  const servers: SimulatedServer[] = [];
  for (const [provider, settings] of Object.entries(providers)) {
    const redirectUri = `${baseUrl}/api/auth/oidc/${provider}/callback`;
    const server = settings.simulated && createSimulatedServer(settings, redirectUri);
    if (server !== undefined) servers.push(server);
    const issuer = () => (server === undefined ? settings.issuer : server.issuer());
    clients.set(provider, createProviderClient(provider, settings, redirectUri, issuer));
  }
  return { clients, servers };
}

/** Runs the simulated providers in this process. */
async function runSimulatedServers(servers: readonly SimulatedServer[]) {
  await Promise.all(servers.map((server) => server.start()));
  return {
    async stop() {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

/**
 * Sign-in with identity providers: OpenID Connect, and OAuth 2 for providers without it.
 *
 * @example createApp({ resources, extensions: [oidc({ providers: { google: google({ clientId, clientSecret }) } })] }, process.env)
 */
export function oidc(options: OidcOptions): Extension<'oidc', OidcApi, { userFields: VerifiedEmailFields }> {
  return defineExtension({
    name: 'oidc',
    tables: { oidc_flows: oidcFlows, oidc_codes: oidcCodes, oidc_nonces: oidcNonces, oidc_tokens: oidcTokens },
    userFields: verifiedEmailFields,
    settings: oidcSettings,
    options: options as z.input<typeof oidcSettings>,
    setup(host, settings) {
      const { accounts, users, env } = host;
      if (accounts === undefined || users === undefined) {
        throw new StartupError('oidc() cannot work:', ['it needs accounts; declare a user resource with defineUser()']);
      }
      if (env.nodeEnv === 'production') {
        const simulated = Object.entries(settings.providers).filter(([, each]) => each.simulated !== undefined);
        if (simulated.length > 0) {
          const errors = simulated.map(
            ([name]) =>
              `oidc.providers.${name}: the simulated provider lets anyone sign in as any user; remove it in production`,
          );
          throw new StartupError('oidc() cannot work:', errors);
        }
      }
      const baseUrl = getAppUrl(env);
      const { clients, servers } = createClients(settings.providers, baseUrl);
      const redirectUrls = settings.redirectUrls ?? [`${baseUrl}/auth/callback`];
      const context: OidcContext = { host, accounts, users, settings, clients, baseUrl, redirectUrls };
      return {
        routes: oidcRoutes(context),
        ...createOidcRowParts(host.database, users),
        encrypted: encryptedOidcColumns,
        api: createOidcApi(host),
        workers: servers.length === 0 ? {} : { web: () => runSimulatedServers(servers) },
      };
    },
  });
}
