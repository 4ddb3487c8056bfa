import type { Request } from 'express';
import {
  type Accounts,
  ApiError,
  addressOf,
  type Host,
  type ResourceGateway,
  type RouteContext,
  validationError,
} from '../../extension/index.ts';
import type { ProviderClient } from './provider/client.ts';
import type { OidcSettings } from './provider/settings.ts';

/** The dependencies of the extension's operations. */
export interface OidcContext {
  host: Pick<Host, 'database' | 'keyring' | 'events' | 'log' | 'transaction'>;
  accounts: Accounts;
  users: ResourceGateway;
  settings: OidcSettings;
  /** By the key in the settings. */
  clients: ReadonlyMap<string, ProviderClient>;
  /** The URL of the app, without a slash at the end. */
  baseUrl: string;
  redirectUrls: readonly string[];
}

/** Returns the client of the provider in the path. @throws ApiError NOT_FOUND */
export function findProviderClient({ clients }: OidcContext, { params }: Pick<RouteContext, 'params'>): ProviderClient {
  const client = clients.get(params.provider!);
  if (client === undefined) throw new ApiError('NOT_FOUND', 'There is no such sign-in provider');
  return client;
}

/** Returns the page to which the user returns. Compared exactly: with a prefix or pattern, attackers could receive codes. */
export function resolveRedirectUrl({ redirectUrls }: OidcContext, given: string | undefined): string {
  if (given === undefined) return redirectUrls[0]!;
  if (!redirectUrls.includes(given))
    throw validationError({
      redirectUrl: 'Is not in redirectUrls of oidc(). It must match one of them character by character',
    });
  return given;
}

/** Returns the messages of an error and its causes, without their other content, which may include tokens. */
function describeError(error: unknown): string {
  const messages: string[] = [];
  for (let cause = error; cause instanceof Error && messages.length < 5; cause = cause.cause)
    messages.push(cause.message);
  return messages.join(': ');
}

/** Logs why a response of a provider was refused, and emits `security.oidc_failed`. */
export function reportRefusal({ host }: OidcContext, provider: string, request: Request, error: unknown): void {
  host.log.warn({ provider, reason: describeError(error) }, 'a sign-in with a provider was refused');
  host.events.emit('security.oidc_failed', { provider, ip: addressOf(request) });
}
