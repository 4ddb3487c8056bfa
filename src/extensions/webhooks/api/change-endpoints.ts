import {
  type Accounts,
  ApiError,
  addressOf,
  allowsAction,
  HOUR_MS,
  type Host,
  newId,
  type RouteContext,
} from '../../../extension/index.ts';
import { getAdministrator, getRequestForPolicy } from '../endpoints/administrators.ts';
import { type EndpointRow, secretEncryptionContext, serializeEndpoint } from '../endpoints/endpoint.ts';
import { chooseLane, enqueueEndpointJobs } from '../endpoints/endpoint-jobs.ts';
import { MAX_DELIVERIES_REMOVED } from '../endpoints/endpoints-sql.ts';
import { isApiKey, type KeyLimits, OWNER_ONLY_REASONS } from '../endpoints/key-limits.ts';
import { CREATED_MAIL, createdMailData } from '../endpoints/mails.ts';
import { generateSigningSecrets } from '../endpoints/signing.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import { CREATE_ENDPOINT, REMOVE_ENDPOINT, ROTATE_SECRET, UPDATE_ENDPOINT } from './change-endpoints-sql.ts';
import { requireCallerId, serializeLoadedEndpoint } from './endpoint-access.ts';
import { assertMayReadEvents, bindToCallingKey, decideKeyBinding } from './key-binding.ts';
import { assertMayCreate } from './portal-grants.ts';

/** What the handlers of requests that change endpoints need. */
export interface EndpointChangeDependencies {
  host: Host;
  accounts: Pick<Accounts, 'holdCredential' | 'confirmNewCredential'>;
  settings: WebhookSettings;
  limits: KeyLimits;
  /** See `createUrlCheck`. */
  checkUrl(url: string): Promise<void>;
}

/** Who made a change, if it was not the owner with their own session or key: an administrator, or the holder of a link to the portal. */
function getChangeOrigin(ctx: RouteContext): object {
  const administrator = getAdministrator(ctx);
  if (administrator !== undefined) return { via: 'console', by: administrator.id };
  const { via, id: credential } = ctx.auth ?? {};
  return via === 'portal' ? { via, credential } : {};
}

function emitWebhookEvent(
  { events }: Pick<Host, 'events'>,
  what: string,
  webhook: { id: string },
  ctx: RouteContext,
): void {
  events.emit(`webhook.${what}`, {
    webhook,
    owner: requireCallerId(ctx),
    ip: addressOf(ctx.req),
    ...getChangeOrigin(ctx),
  });
}

/**
 * Runs a statement that changes an endpoint. Refuses the change if the session or key of the request was revoked after the request was
 * authenticated: the revocation may have disabled the endpoint.
 */
async function writeIfCredentialHeld<Row extends unknown[]>(
  { host, accounts }: Pick<EndpointChangeDependencies, 'host' | 'accounts'>,
  ctx: RouteContext,
  statement: { text: string; values: unknown[] },
) {
  return host.database.transaction(async (tx) => {
    await accounts.holdCredential(ctx, tx);
    return tx.write<Row>(statement);
  });
}

/** Creates an endpoint for the caller. Returns it with its secret. */
export async function createEndpoint(
  { host, accounts, settings, limits, checkUrl }: EndpointChangeDependencies,
  ctx: RouteContext,
) {
  const owner = requireCallerId(ctx);
  assertMayCreate(ctx.auth, ctx.input.scope);
  const { url, events: subscribed, description = null, scope, signing, ordered, rateLimit } = ctx.input;
  const { user, service } = ctx;
  const args = { user, action: 'create', doc: undefined, req: getRequestForPolicy(ctx), service };
  if (scope === 'global' && !(await allowsAction(settings.globalPolicy, args, false))) {
    throw new ApiError('FORBIDDEN', 'You are not allowed to have a webhook of scope "global"');
  }
  if (ctx.auth !== undefined) limits.assertKeyMayReadEvents(ctx.auth, subscribed);
  await checkUrl(url);
  await accounts.confirmNewCredential(ctx, ctx.input.code);
  const [, ...key] = await bindToCallingKey(limits, ctx.auth);
  const id = newId();
  const { secret, publicKey, kept } = generateSigningSecrets(signing);
  const stored = host.keyring.encrypt(kept, secretEncryptionContext(id));
  const row = await host.transaction(async (tx) => {
    await accounts.holdCredential(ctx, tx.database);
    const most = settings.maxEndpointsPerUser;
    const pace = [ordered, rateLimit?.limit ?? null, rateLimit?.windowSeconds ?? null];
    const values = [id, owner, url, subscribed, description, scope, stored, most, publicKey, ...pace, ...key];
    const [made] = await tx.database.write<EndpointRow>({ text: CREATE_ENDPOINT, values });
    if (made !== undefined && settings.notifyOwner) {
      await host.mail.sendComposed(CREATED_MAIL, createdMailData(made, ctx), tx);
    }
    return made;
  });
  if (row === undefined) {
    throw new ApiError('LIMIT_REACHED', `You can have at most ${settings.maxEndpointsPerUser} webhooks`);
  }
  ctx.res.setHeader('Cache-Control', 'no-store');
  emitWebhookEvent(host, 'created', serializeEndpoint(row), ctx);
  return { ...serializeEndpoint(row), secret };
}

/** Changes the endpoint that a route has loaded. Returns it. */
export async function updateEndpoint(parts: EndpointChangeDependencies, ctx: RouteContext) {
  const { host, limits, checkUrl } = parts;
  const endpoint = serializeLoadedEndpoint(ctx);
  const { id } = endpoint;
  const owner = requireCallerId(ctx);
  const { url = null, events: subscribed = null, description, enabled = null, ordered = null, rateLimit } = ctx.input;
  if (enabled) limits.assertMayEnable(ctx, endpoint);
  const binding = await decideKeyBinding(limits, ctx, endpoint);
  assertMayReadEvents(limits, ctx, endpoint, binding);
  if (url !== null) await checkUrl(url);
  const rate = [rateLimit !== undefined, rateLimit?.limit ?? null, rateLimit?.windowSeconds ?? null];
  const described = [description !== undefined, description ?? null];
  const isByOwner = !isApiKey(ctx.auth) && getAdministrator(ctx) === undefined;
  const final = isByOwner ? [] : OWNER_ONLY_REASONS;
  const values = [id, owner, url, subscribed, ...described, enabled, ordered, ...rate, ...binding, final];
  const [row] = await writeIfCredentialHeld<[...EndpointRow, boolean, boolean]>(parts, ctx, {
    text: UPDATE_ENDPOINT,
    values,
  });
  if (row === undefined) throw new ApiError('NOT_FOUND');
  const [wasEnabled, slow] = row.slice(-2) as [boolean, boolean];
  const webhook = serializeEndpoint(row.slice(0, -2) as EndpointRow);
  emitWebhookEvent(host, 'updated', webhook, ctx);
  if (webhook.enabled) await enqueueEndpointJobs(host.queues, [{ id, owner, lane: chooseLane(slow) }]);
  else if (wasEnabled)
    host.events.emit('webhook.disabled', { webhook, owner, reason: 'manual', ...getChangeOrigin(ctx) });
  return webhook;
}

/** Removes the endpoint that a route has loaded. */
export async function removeEndpoint(host: Host, ctx: RouteContext): Promise<void> {
  const rows = await host.database.write({
    text: REMOVE_ENDPOINT,
    values: [serializeLoadedEndpoint(ctx).id, requireCallerId(ctx), MAX_DELIVERIES_REMOVED],
  });
  if (rows.length === 0) throw new ApiError('NOT_FOUND');
  emitWebhookEvent(host, 'deleted', { id: ctx.params.id! }, ctx);
}

/** Gives the endpoint that a route has loaded a new secret. Returns the endpoint with the secret. */
export async function rotateSecret(parts: EndpointChangeDependencies, ctx: RouteContext) {
  const { host, accounts, settings, limits } = parts;
  const { id, signing: now = 'v1' } = serializeLoadedEndpoint(ctx);
  await accounts.confirmNewCredential(ctx, ctx.input.code);
  const { secret, publicKey, kept } = generateSigningSecrets(ctx.input.signing ?? now);
  const binding = await bindToCallingKey(limits, ctx.auth);
  const values = [
    id,
    requireCallerId(ctx),
    host.keyring.encrypt(kept, secretEncryptionContext(id)),
    Math.round(settings.secretGraceHours * HOUR_MS),
    publicKey,
    ...binding,
  ];
  const [row] = await writeIfCredentialHeld<EndpointRow>(parts, ctx, { text: ROTATE_SECRET, values });
  if (row === undefined) throw new ApiError('NOT_FOUND');
  ctx.res.setHeader('Cache-Control', 'no-store');
  emitWebhookEvent(host, 'secret_rotated', serializeEndpoint(row), ctx);
  return { ...serializeEndpoint(row), secret };
}
