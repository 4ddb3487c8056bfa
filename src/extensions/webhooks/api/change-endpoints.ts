import {
  type Accounts,
  ApiError,
  addressOf,
  allowsAction,
  type Executor,
  type ExtensionHost,
  getOrganisationRole,
  HOUR_MS,
  newId,
  type RouteContext,
  type Transaction,
  validationError,
} from '../../../extension/index.ts';
import { getAdministrator, getRequestForPolicy, getSender } from '../endpoints/administrators.ts';
import { type EndpointRow, getOwnerKey, secretEncryptionContext, serializeEndpoint } from '../endpoints/endpoint.ts';
import { announcePolledEndpoints, chooseLane, enqueueEndpointJobs } from '../endpoints/endpoint-jobs.ts';
import { MAX_DELIVERIES_REMOVED } from '../endpoints/endpoints-sql.ts';
import type { EndpointFilter } from '../endpoints/filter-schema.ts';
import { isApiKey, type KeyLimits, OWNER_ONLY_REASONS } from '../endpoints/key-limits.ts';
import { CREATED_MAIL, createdMailData, findRecipients } from '../endpoints/mails.ts';
import { generateSigningSecrets } from '../endpoints/signing.ts';
import type { FilterChecks } from '../filters/check.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import {
  CREATE_ENDPOINT,
  REMOVE_ENDPOINT,
  ROLE_OF_ENDPOINT,
  ROTATE_SECRET,
  UPDATE_ENDPOINT,
} from './change-endpoints-sql.ts';
import { decideHeaderUpdate, toStoredHeaders } from './change-headers.ts';
import { requireOwnerId, serializeLoadedEndpoint } from './endpoint-access.ts';
import { assertFitsDelivery } from './endpoint-schemas.ts';
import { assertMayReadEvents, bindToCallingKey, decideKeyBinding } from './key-binding.ts';
import type { EndpointAccess } from './organisation-endpoints.ts';
import { assertMayCreate } from './portal-grants.ts';

/** What the handlers of requests that change endpoints need. */
export interface EndpointChangeDependencies {
  host: ExtensionHost;
  accounts: Pick<Accounts, 'holdCredential' | 'confirmNewCredential'>;
  settings: WebhookSettings;
  limits: KeyLimits;
  access: EndpointAccess;
  /** See `createUrlCheck`. */
  checkUrl(url: string): Promise<void>;
  filters: FilterChecks;
}

/** Who made a change, if it was not the owner with their own session or key: an administrator, or the holder of a link to the portal. */
function getChangeOrigin(ctx: RouteContext): object {
  const administrator = getAdministrator(ctx);
  if (administrator !== undefined) return { via: 'console', by: administrator.id };
  const { via, id: credential } = ctx.auth ?? {};
  const isOfOrganisation = getOrganisationRole(getSender(ctx).user) !== undefined;
  return via === 'portal' || isOfOrganisation ? { via, credential } : {};
}

/** The owner of an endpoint in events; for an organisation, with the user who made the change, or null if a key or a link did. */
function describeOwner(ctx: RouteContext): object {
  const owner = requireOwnerId(ctx);
  if (getOrganisationRole(ctx.user) === undefined) return { owner };
  const { user } = getSender(ctx);
  return { owner, organisation: owner, by: getOrganisationRole(user) === undefined ? user?.id : null };
}

function emitWebhookEvent(
  { events }: Pick<ExtensionHost, 'events'>,
  what: string,
  webhook: { id: string },
  ctx: RouteContext,
): void {
  events.emit(`webhook.${what}`, {
    webhook,
    ...describeOwner(ctx),
    ip: addressOf(ctx.req),
    ...getChangeOrigin(ctx),
  });
}

/**
 * Runs a statement that changes an endpoint, which is created in the same transaction. `role`: its new role in an organisation. Refuses the change if the session or key of the request was revoked after the request was
 * authenticated: the revocation may have disabled the endpoint.
 */
async function writeIfCredentialHeld<Row extends unknown[]>(
  parts: Pick<EndpointChangeDependencies, 'host' | 'accounts' | 'access'>,
  ctx: RouteContext,
  role: string | undefined,
  createStatement: (tx: Executor) => Promise<{ text: string; values: unknown[] }>,
) {
  const { organisationRole } = getOwnerKey(ctx.doc as EndpointRow);
  return parts.host.transaction(async (tx) => {
    // The role may have changed since the endpoint was loaded. The organisation is locked by then, so that it stays.
    await holdCaller(parts, ctx, [organisationRole, role], tx);
    if (typeof organisationRole === 'string') {
      const values = [serializeLoadedEndpoint(ctx).id];
      const [row] = await tx.database.write<[role: string]>({ text: ROLE_OF_ENDPOINT, values });
      if (row !== undefined) await parts.access.hold(ctx, requireOwnerId(ctx), row, tx);
    }
    return tx.database.write<Row>(await createStatement(tx.database));
  });
}

/** Locks the caller, and for the endpoint of an organisation also that: until the transaction ends, they may make the change. */
async function holdCaller(
  { accounts, access }: Pick<EndpointChangeDependencies, 'accounts' | 'access'>,
  ctx: RouteContext,
  roles: readonly (string | null | undefined)[],
  tx: Transaction,
): Promise<void> {
  await accounts.holdCredential(getSender(ctx), tx.database);
  const held = roles.filter((role) => typeof role === 'string');
  if (held.length > 0) await access.hold(ctx, requireOwnerId(ctx), held, tx);
}

/** Creates an endpoint for the caller, or for the organisation in which the request works. Returns it with its secret. */
export async function createEndpoint(parts: EndpointChangeDependencies, ctx: RouteContext) {
  const { access } = parts;
  const owner = await access.findOwner(ctx);
  assertMayCreate(ctx.auth, ctx.input.scope);
  const role = access.decideRole(owner, ctx.input.as);
  if (role === undefined) return createForOwner(parts, ctx, undefined);
  if (ctx.input.scope === 'global')
    throw validationError({ scope: 'Must be "own": the webhook of an organisation receives only its records' });
  access.assertSentToOrganisations(ctx.input.events);
  return createForOwner(parts, access.actFor(ctx, owner.id, role), role);
}

/** @param role the role as which an organisation reads; undefined if the owner is a user */
async function createForOwner(parts: EndpointChangeDependencies, ctx: RouteContext, role: string | undefined) {
  const { host, accounts, settings, limits, checkUrl, filters } = parts;
  const owner = requireOwnerId(ctx);
  const { url, events: subscribed, description = null, scope, signing, ordered, rateLimit, filter } = ctx.input;
  const { delivery } = ctx.input;
  const { user, service } = ctx;
  const args = { user, action: 'create', doc: undefined, req: getRequestForPolicy(ctx), service };
  if (scope === 'global' && !(await allowsAction(settings.globalPolicy, args, false))) {
    throw new ApiError('FORBIDDEN', 'You are not allowed to have a webhook of scope "global"');
  }
  if (ctx.auth !== undefined) limits.assertKeyMayReadEvents(ctx.auth, subscribed);
  const scopes = isApiKey(ctx.auth) ? ctx.auth.scopes : undefined;
  await filters.assertValid({ events: subscribed, filter, scopes }, ctx.user!);
  if (delivery === 'push') await checkUrl(url);
  await accounts.confirmNewCredential(getSender(ctx), ctx.input.code);
  const [, ...key] = await bindToCallingKey(limits, ctx.auth);
  const most = role === undefined ? settings.maxEndpointsPerUser : settings.maxEndpointsPerOrganisation;
  const id = newId();
  const { secret, publicKey, kept } = generateSigningSecrets(signing);
  const stored = host.keyring.encrypt(kept, secretEncryptionContext(id));
  const headers = toStoredHeaders(host.keyring, id, ctx.input.headers ?? []);
  const row = await host.transaction(async (tx) => {
    await holdCaller(parts, ctx, [role], tx);
    const pace = [ordered, rateLimit?.limit ?? null, rateLimit?.windowSeconds ?? null];
    const values = [
      ...[id, owner, delivery === 'poll' ? '' : url, subscribed, description, scope, stored, most, publicKey],
      ...pace,
      ...key,
      role,
      ...headers,
      toJsonParameter(filter),
      delivery,
    ];
    const [made] = await tx.database.write<EndpointRow>({ text: CREATE_ENDPOINT, values });
    if (made !== undefined && settings.notifyOwner) {
      const data = createdMailData(made, ctx);
      for (const recipient of await findRecipients(host, made))
        await host.mail.sendComposed(CREATED_MAIL, { ...data, ...recipient }, tx);
    }
    return made;
  });
  if (row === undefined) {
    throw new ApiError(
      'LIMIT_REACHED',
      `${role === undefined ? 'You' : 'An organisation'} can have at most ${most} webhooks`,
    );
  }
  ctx.res.setHeader('Cache-Control', 'no-store');
  emitWebhookEvent(host, 'created', serializeEndpoint(row), ctx);
  return { ...serializeEndpoint(row), filterError: null, secret };
}

const toJsonParameter = (filter: EndpointFilter | null) => (filter === null ? null : JSON.stringify(filter));

/**
 * Checks the filter that an endpoint has after an update. An unchanged filter may have become invalid by a change of the app, which must not
 * prevent other updates.
 */
async function assertFilterAfterUpdate(
  filters: FilterChecks,
  { input, user, auth }: RouteContext,
  endpoint: ReturnType<typeof serializeEndpoint>,
  [change]: Awaited<ReturnType<typeof decideKeyBinding>>,
): Promise<void> {
  const { events = endpoint.events, filter = endpoint.filter } = input;
  const isBoundNow = change === 'bind' && endpoint.apiKeyId === undefined;
  const scopes = change === 'bind' ? auth?.scopes : change === 'drop' ? undefined : endpoint.scopes;
  if (input.filter !== undefined || isBoundNow) await filters.assertValid({ events, filter, scopes }, user!);
  else if (input.events !== undefined) filters.assertSubscribed({ events, filter });
}

/** Checks what only the endpoints of organisations have. Returns the new role of the endpoint; undefined if it stays. */
async function decideNewRole(
  { access }: Pick<EndpointChangeDependencies, 'access'>,
  ctx: RouteContext,
): Promise<string | undefined> {
  const { as, events } = ctx.input;
  const { organisationRole } = getOwnerKey(ctx.doc as EndpointRow);
  if (typeof organisationRole === 'string' && events !== undefined) access.assertSentToOrganisations(events);
  return as === undefined ? undefined : access.decideRole(await access.findLoadedOwner(ctx), as);
}

/** Changes the endpoint that a route has loaded. Returns it. */
export async function updateEndpoint(parts: EndpointChangeDependencies, ctx: RouteContext) {
  const { host, limits, checkUrl, filters } = parts;
  const endpoint = serializeLoadedEndpoint(ctx);
  const { id } = endpoint;
  const owner = requireOwnerId(ctx);
  assertFitsDelivery(ctx.input, endpoint);
  const role = await decideNewRole(parts, ctx);
  const {
    url = null,
    events: subscribed = null,
    description,
    enabled = null,
    ordered = null,
    rateLimit,
    filter,
  } = ctx.input;
  if (enabled) limits.assertMayEnable(ctx, endpoint);
  const binding = await decideKeyBinding(limits, ctx, endpoint);
  assertMayReadEvents(limits, ctx, endpoint, binding);
  await assertFilterAfterUpdate(filters, ctx, endpoint, binding);
  if (url !== null) await checkUrl(url);
  const rate = [rateLimit !== undefined, rateLimit?.limit ?? null, rateLimit?.windowSeconds ?? null];
  const described = [description !== undefined, description ?? null];
  const isByOwner = !isApiKey(ctx.auth) && getAdministrator(ctx) === undefined;
  const final = isByOwner ? [] : OWNER_ONLY_REASONS;
  const filtered = [filter !== undefined, toJsonParameter(filter ?? null)];
  const values = [id, owner, url, subscribed, ...described, enabled, ordered, ...rate, ...binding, final, role];
  const [row] = await writeIfCredentialHeld<[...EndpointRow, boolean, boolean]>(parts, ctx, role, async (tx) => {
    const headers = await decideHeaderUpdate(host.keyring, tx, id, { url, headers: ctx.input.headers });
    return { text: UPDATE_ENDPOINT, values: [...values, ...headers, ...filtered] };
  });
  if (row === undefined) throw new ApiError('NOT_FOUND');
  const [wasEnabled, slow] = row.slice(-2) as [boolean, boolean];
  const webhook = serializeEndpoint(row.slice(0, -2) as EndpointRow);
  emitWebhookEvent(host, 'updated', webhook, ctx);
  // Requests that wait for messages of a disabled endpoint end, too.
  if (webhook.delivery === 'poll') announcePolledEndpoints(host.queues, [id]);
  else if (webhook.enabled) await enqueueEndpointJobs(host.queues, [{ id, owner, lane: chooseLane(slow) }]);
  if (wasEnabled && !webhook.enabled)
    host.events.emit('webhook.disabled', {
      webhook,
      ...describeOwner(ctx),
      reason: 'manual',
      ...getChangeOrigin(ctx),
    });
  return { ...webhook, filterError: await filters.findError(webhook, ctx.user!, host.languages.for(ctx.req).text) };
}

/** Removes the endpoint that a route has loaded. */
export async function removeEndpoint(host: ExtensionHost, ctx: RouteContext): Promise<void> {
  const rows = await host.database.write({
    text: REMOVE_ENDPOINT,
    values: [serializeLoadedEndpoint(ctx).id, requireOwnerId(ctx), MAX_DELIVERIES_REMOVED],
  });
  if (rows.length === 0) throw new ApiError('NOT_FOUND');
  const { id, delivery } = serializeLoadedEndpoint(ctx);
  if (delivery === 'poll') announcePolledEndpoints(host.queues, [id]);
  emitWebhookEvent(host, 'deleted', { id: ctx.params.id! }, ctx);
}

/** Gives the endpoint that a route has loaded a new secret. Returns the endpoint with the secret. */
export async function rotateSecret(parts: EndpointChangeDependencies, ctx: RouteContext) {
  const { host, accounts, settings, limits, filters } = parts;
  const { id, signing: now = 'v1' } = serializeLoadedEndpoint(ctx);
  await accounts.confirmNewCredential(getSender(ctx), ctx.input.code);
  const { secret, publicKey, kept } = generateSigningSecrets(ctx.input.signing ?? now);
  const binding = await bindToCallingKey(limits, ctx.auth);
  const values = [
    id,
    requireOwnerId(ctx),
    host.keyring.encrypt(kept, secretEncryptionContext(id)),
    Math.round(settings.secretGraceHours * HOUR_MS),
    publicKey,
    ...binding,
  ];
  const [row] = await writeIfCredentialHeld<EndpointRow>(parts, ctx, undefined, async () => ({
    text: ROTATE_SECRET,
    values,
  }));
  if (row === undefined) throw new ApiError('NOT_FOUND');
  ctx.res.setHeader('Cache-Control', 'no-store');
  emitWebhookEvent(host, 'secret_rotated', serializeEndpoint(row), ctx);
  const endpoint = serializeEndpoint(row);
  return {
    ...endpoint,
    filterError: await filters.findError(endpoint, ctx.user!, host.languages.for(ctx.req).text),
    secret,
  };
}
