import type { Accounts } from '../../../declare/accounts.ts';
import { credentialWatchOf } from '../../../declare/authenticator.ts';
import type { Host } from '../../../declare/host.ts';
import { allowsAction } from '../../../declare/policy.ts';
import type { Auth, Route, RouteContext } from '../../../declare/route.ts';
import { ApiError, validationError } from '../../../platform/errors.ts';
import { addressOf } from '../../../platform/http/client-address.ts';
import { newId } from '../../../platform/ids.ts';
import { administratorOf, policyRequestOf } from '../endpoints/administrators.ts';
import { type EndpointRow, secretEncryptionContext, serializeEndpoint } from '../endpoints/endpoint.ts';
import { enqueueEndpointJobs, fastOrSlowLaneFor } from '../endpoints/endpoint-jobs.ts';
import { MAX_DELIVERIES_REMOVED } from '../endpoints/endpoints-sql.ts';
import { boundKeyOf, isApiKey, type KeyLimits, OWNER_ONLY_REASONS, ownerOnlyError } from '../endpoints/key-limits.ts';
import { CREATED_MAIL, createdMailDataOf } from '../endpoints/mails.ts';
import { generateSigningSecrets } from '../endpoints/signing.ts';
import { listSubscribableNames } from '../settings/events.ts';
import type { WebhookSettings } from '../settings/settings.ts';
import {
  createManagedEndpointLoader,
  createOwnEndpointLoader,
  requireCallerId,
  serializeLoadedEndpoint,
} from './endpoint-access.ts';
import {
  CREATE_ENDPOINT,
  LIST_ENDPOINTS,
  REMOVE_ENDPOINT,
  ROTATE_SECRET,
  UPDATE_ENDPOINT,
} from './endpoint-changes-sql.ts';
import {
  createEndpointSchema,
  createUrlCheck,
  endpointShape,
  endpointWithSecretShape,
  rotateSecretSchema,
  updateEndpointSchema,
} from './endpoint-schemas.ts';
import { assertMayCreate, portalGrantOf, reachesEndpoint } from './portal-grants.ts';

const HOUR_MS = 3_600_000;

type Endpoint = ReturnType<typeof serializeEndpoint>;

/** A change of an endpoint's binding to an API key, in the form that `bindKeySql` takes. */
type KeyBindingChange = readonly [
  change: 'keep' | 'bind' | 'drop',
  keyId: string | null,
  scopes: readonly string[] | null,
  expiresAt: string | null,
];

const KEEP: KeyBindingChange = ['keep', null, null, null];

/** The routes of endpoints. All of them respond with 404 for another user's endpoint. */
export function endpointRoutes(
  host: Host,
  accounts: Pick<Accounts, 'holdCredential' | 'confirmNewCredential'>,
  settings: WebhookSettings,
  limits: KeyLimits,
): Route[] {
  const { database, keyring, queues, events } = host;
  const names = listSubscribableNames(host.resources, Object.keys(settings.events));
  const graceMs = Math.round(settings.secretGraceHours * HOUR_MS);
  const common = { policy: settings.policy, tags: ['webhooks'] };
  const checkUrl = createUrlCheck(settings);
  const ownEndpointRoute = { ...common, load: createOwnEndpointLoader(database) };
  const managedEndpointRoute = { ...common, load: createManagedEndpointLoader(database, limits) };

  /** Who made a change, if it was not the owner with their own session or key: an administrator, or the holder of a link to the portal. */
  function originOf(ctx: RouteContext): object {
    const administrator = administratorOf(ctx);
    if (administrator !== undefined) return { via: 'console', by: administrator.id };
    const { via, id: credential } = ctx.auth ?? {};
    return via === 'portal' ? { via, credential } : {};
  }

  function emitWebhookEvent(what: string, webhook: { id: string }, ctx: RouteContext): void {
    events.emit(`webhook.${what}`, { webhook, owner: requireCallerId(ctx), ip: addressOf(ctx.req), ...originOf(ctx) });
  }

  /** Returns the binding for a request: an API key binds the endpoint that it creates or changes to itself; a session binds nothing. */
  async function bindToCallingKey(auth: Auth | undefined): Promise<KeyBindingChange> {
    if (!isApiKey(auth)) return KEEP;
    // The expiry and revocation of credentials from other extensions cannot be detected.
    if (credentialWatchOf(auth) === undefined) {
      throw new ApiError(
        'FORBIDDEN',
        'A webhook cannot be created or changed with this kind of credential; use a session',
      );
    }
    return ['bind', auth.id, auth.scopes, await limits.expiryOf(auth.id)];
  }

  /**
   * Returns how an update changes the binding of an endpoint. A key that changes its URL or events, or enables it, binds the endpoint to
   * itself. A session of the owner may remove the binding.
   */
  async function decideKeyBinding(ctx: RouteContext, endpoint: Endpoint): Promise<KeyBindingChange> {
    const { auth, input } = ctx;
    const { url, events: subscribed, enabled, apiKeyId } = input;
    if (apiKeyId !== undefined && portalGrantOf(auth) !== undefined)
      throw new ApiError('FORBIDDEN', 'A link to the portal cannot change apiKeyId; use a session');
    if (isApiKey(auth)) {
      if (apiKeyId !== undefined) throw new ApiError('FORBIDDEN', 'An API key cannot change apiKeyId; use a session');
      const redirects = url !== undefined || subscribed !== undefined || enabled === true;
      return redirects ? bindToCallingKey(auth) : KEEP;
    }
    const { apiKeyId: bound } = endpoint;
    const isOver = enabled === true && bound !== undefined && (await limits.ended([bound])).length > 0;
    // Without its key, the endpoint would receive more than the key could read, which only the owner may decide.
    if (isOver && administratorOf(ctx) !== undefined) throw ownerOnlyError();
    return isOver || apiKeyId === null ? ['drop', null, null, null] : KEEP;
  }

  /**
   * Runs a statement that changes an endpoint, unless the session or key of the request was revoked meanwhile. The revocation may have
   * disabled the endpoint after the request was authenticated.
   */
  async function writeIfCredentialHeld<Row extends unknown[]>(
    ctx: RouteContext,
    statement: { text: string; values: unknown[] },
  ) {
    return database.transaction(async (tx) => {
      await accounts.holdCredential(ctx, tx);
      return tx.write<Row>(statement);
    });
  }

  /** Rejects events that the caller, or the key that the endpoint stays bound to, may not read. */
  function assertMayReadEvents({ auth, input }: RouteContext, endpoint: Endpoint, [change]: KeyBindingChange): void {
    const { events: subscribed } = input;
    if (subscribed === undefined) return;
    if (isApiKey(auth)) limits.assertKeyMayReadEvents(auth, subscribed);
    const binding = change === 'keep' && !isApiKey(auth) ? boundKeyOf(endpoint) : undefined;
    if (binding === undefined || limits.reads(binding, subscribed)) return;
    throw validationError({
      events: `Must be within the scopes of the API key that the webhook is bound to (${binding.scopes.join(', ')}); set apiKeyId to null to lift that limit`,
    });
  }

  async function createEndpoint(ctx: RouteContext) {
    const owner = requireCallerId(ctx);
    assertMayCreate(ctx.auth, ctx.input.scope);
    const { url, events: subscribed, description = null, scope, signing, ordered, rateLimit } = ctx.input;
    const { user, service } = ctx;
    const args = { user, action: 'create', doc: undefined, req: policyRequestOf(ctx), service };
    if (scope === 'global' && !(await allowsAction(settings.globalPolicy, args, false))) {
      throw new ApiError('FORBIDDEN', 'You are not allowed to have a webhook of scope "global"');
    }
    if (ctx.auth !== undefined) limits.assertKeyMayReadEvents(ctx.auth, subscribed);
    await checkUrl(url);
    await accounts.confirmNewCredential(ctx, ctx.input.code);
    const [, ...key] = await bindToCallingKey(ctx.auth);
    const id = newId();
    const { secret, publicKey, kept } = generateSigningSecrets(signing);
    const stored = keyring.encrypt(kept, secretEncryptionContext(id));
    const row = await host.transaction(async (tx) => {
      await accounts.holdCredential(ctx, tx.database);
      const most = settings.maxEndpointsPerUser;
      const pace = [ordered, rateLimit?.limit ?? null, rateLimit?.windowSeconds ?? null];
      const values = [id, owner, url, subscribed, description, scope, stored, most, publicKey, ...pace, ...key];
      const [made] = await tx.database.write<EndpointRow>({ text: CREATE_ENDPOINT, values });
      if (made !== undefined && settings.notifyOwner) {
        await host.mail.sendComposed(CREATED_MAIL, createdMailDataOf(made, ctx), tx);
      }
      return made;
    });
    if (row === undefined) {
      throw new ApiError('LIMIT_REACHED', `You can have at most ${settings.maxEndpointsPerUser} webhooks`);
    }
    ctx.res.setHeader('Cache-Control', 'no-store');
    emitWebhookEvent('created', serializeEndpoint(row), ctx);
    return { ...serializeEndpoint(row), secret };
  }

  async function updateEndpoint(ctx: RouteContext) {
    const endpoint = serializeLoadedEndpoint(ctx);
    const { id } = endpoint;
    const owner = requireCallerId(ctx);
    const { url = null, events: subscribed = null, description, enabled = null, ordered = null, rateLimit } = ctx.input;
    if (enabled) limits.assertMayEnable(ctx, endpoint);
    const binding = await decideKeyBinding(ctx, endpoint);
    assertMayReadEvents(ctx, endpoint, binding);
    if (url !== null) await checkUrl(url);
    const rate = [rateLimit !== undefined, rateLimit?.limit ?? null, rateLimit?.windowSeconds ?? null];
    const described = [description !== undefined, description ?? null];
    const isByOwner = !isApiKey(ctx.auth) && administratorOf(ctx) === undefined;
    const final = isByOwner ? [] : OWNER_ONLY_REASONS;
    const values = [id, owner, url, subscribed, ...described, enabled, ordered, ...rate, ...binding, final];
    const [row] = await writeIfCredentialHeld<[...EndpointRow, boolean, boolean]>(ctx, {
      text: UPDATE_ENDPOINT,
      values,
    });
    if (row === undefined) throw new ApiError('NOT_FOUND');
    const [wasEnabled, slow] = row.slice(-2) as [boolean, boolean];
    const webhook = serializeEndpoint(row.slice(0, -2) as EndpointRow);
    emitWebhookEvent('updated', webhook, ctx);
    if (webhook.enabled) await enqueueEndpointJobs(queues, [{ id, owner, lane: fastOrSlowLaneFor(slow) }]);
    else if (wasEnabled) events.emit('webhook.disabled', { webhook, owner, reason: 'manual', ...originOf(ctx) });
    return webhook;
  }

  async function removeEndpoint(ctx: RouteContext): Promise<void> {
    const rows = await database.write({
      text: REMOVE_ENDPOINT,
      values: [serializeLoadedEndpoint(ctx).id, requireCallerId(ctx), MAX_DELIVERIES_REMOVED],
    });
    if (rows.length === 0) throw new ApiError('NOT_FOUND');
    emitWebhookEvent('deleted', { id: ctx.params.id! }, ctx);
  }

  async function rotateSecret(ctx: RouteContext) {
    const { id, signing: now = 'v1' } = serializeLoadedEndpoint(ctx);
    await accounts.confirmNewCredential(ctx, ctx.input.code);
    const { secret, publicKey, kept } = generateSigningSecrets(ctx.input.signing ?? now);
    const binding = await bindToCallingKey(ctx.auth);
    const values = [
      id,
      requireCallerId(ctx),
      keyring.encrypt(kept, secretEncryptionContext(id)),
      graceMs,
      publicKey,
      ...binding,
    ];
    const [row] = await writeIfCredentialHeld<EndpointRow>(ctx, { text: ROTATE_SECRET, values });
    if (row === undefined) throw new ApiError('NOT_FOUND');
    ctx.res.setHeader('Cache-Control', 'no-store');
    emitWebhookEvent('secret_rotated', serializeEndpoint(row), ctx);
    return { ...serializeEndpoint(row), secret };
  }

  return [
    {
      ...common,
      method: 'POST',
      path: '/webhooks',
      summary: 'Create a webhook endpoint; its secret is shown only once',
      input: createEndpointSchema(settings, names),
      output: endpointWithSecretShape,
      errors: ['FORBIDDEN', 'LIMIT_REACHED', 'RATE_LIMITED', 'RECENT_SIGN_IN_REQUIRED'],
      status: 201,
      operationId: 'createWebhook',
      handler: createEndpoint,
    },
    {
      ...common,
      method: 'GET',
      path: '/webhooks',
      summary: 'List your webhook endpoints',
      errors: [],
      operationId: 'listWebhooks',
      output: endpointShape.array(),
      handler: async (ctx) => {
        const rows = await database.read<EndpointRow>({
          name: 'webhook_list',
          text: LIST_ENDPOINTS,
          values: [requireCallerId(ctx)],
        });
        return rows.map(serializeEndpoint).filter((endpoint) => reachesEndpoint(ctx.auth, endpoint));
      },
    },
    {
      ...ownEndpointRoute,
      method: 'GET',
      path: '/webhooks/:id',
      summary: 'Get a webhook endpoint',
      errors: ['NOT_FOUND'],
      operationId: 'readWebhook',
      output: endpointShape,
      handler: serializeLoadedEndpoint,
    },
    {
      ...managedEndpointRoute,
      method: 'PATCH',
      path: '/webhooks/:id',
      summary: 'Update a webhook endpoint; enabling it resets its failure count',
      errors: ['FORBIDDEN', 'NOT_FOUND'],
      operationId: 'updateWebhook',
      input: updateEndpointSchema(settings, names),
      output: endpointShape,
      handler: updateEndpoint,
    },
    {
      ...ownEndpointRoute,
      method: 'DELETE',
      path: '/webhooks/:id',
      summary: 'Delete a webhook endpoint and its delivery log',
      errors: ['NOT_FOUND'],
      status: 204,
      operationId: 'deleteWebhook',
      handler: removeEndpoint,
    },
    {
      ...managedEndpointRoute,
      method: 'POST',
      path: '/webhooks/:id/rotate-secret',
      summary: 'Rotate the secret of a webhook endpoint; the new secret is shown only once',
      description:
        'During a grace period, messages are also signed with the old secret. `signing` changes the kind of signature; omit it to keep it.',
      input: rotateSecretSchema,
      output: endpointWithSecretShape,
      errors: ['FORBIDDEN', 'NOT_FOUND', 'RATE_LIMITED', 'RECENT_SIGN_IN_REQUIRED'],
      operationId: 'rotateWebhookSecret',
      handler: rotateSecret,
    },
  ];
}
