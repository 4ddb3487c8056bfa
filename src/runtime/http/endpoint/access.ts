import type { Request } from 'express';
import type { Host } from '../../../declare/host.ts';
import { type CompiledPolicy, compilePolicy, type Viewer } from '../../../declare/policy.ts';
import type { Route } from '../../../declare/route.ts';
import { ApiError } from '../../../platform/helpers/errors.ts';
import { setIdentity } from '../../../platform/http/request-context.ts';
import { authorizeCollection, loadAuthorizedRecord, requiresUser } from '../../../records/access/authorize.ts';
import type { ResolvedViewContext } from '../../../records/access/operation-context.ts';
import type { Records } from '../../../records/index.ts';
import { createRefusingErrorHandler, createRuleErrorReporter } from '../../../records/schema/rule-errors.ts';
import type { Entity } from '../../../records/store/entity.ts';
import { setAuth } from '../../../rules/credential.ts';
import { createCredentialCheck } from '../../../rules/credential-scopes.ts';
import { type SignedIn, type SignInParts, signIn } from '../sign-in.ts';
import { type Exchange, runStages, type Stage } from './exchange.ts';
import { findItemEntity } from './route-traits.ts';

/** What the stages about access depend on. */
export interface AccessParts extends SignInParts {
  host: Host;
  records: Records;
}

/**
 * Whether the same user has sent a request with the same `Idempotency-Key` before; false without a key.
 *
 * @throws ApiError BAD_REQUEST if the key is malformed
 */
export type RepeatCheck = (req: Request, user: Viewer) => Promise<boolean>;

/** Creates the view context of the caller of a request. */
export function createViewContext(
  { caller, req }: Exchange,
  { service }: Pick<Host, 'service'>,
): ResolvedViewContext & { req: Request } {
  return { user: caller.user, req, service };
}

/** Creates the stage that identifies the caller. */
export function signInCaller(parts: SignInParts): Stage {
  const enter = (exchange: Exchange, caller: SignedIn) => {
    const { req, actor } = exchange;
    const { user, auth } = caller;
    exchange.caller = caller;
    // From here on, service calls are recorded for the user.
    actor.user = user;
    const isOrganisation = auth?.organisationRole !== undefined;
    setIdentity(req, auth && { via: auth.via, id: auth.id, userId: user!.id, isOrganisation });
    if (auth !== undefined) setAuth(req, auth);
  };
  return {
    name: 'sign in',
    run(exchange) {
      const signedIn = signIn(exchange.req, parts);
      if (signedIn instanceof Promise) return signedIn.then((caller) => enter(exchange, caller));
      enter(exchange, signedIn);
    },
  };
}

function createScopeChecks(route: Route, { authenticators }: SignInParts) {
  return new Map(authenticators.map((each) => [each, createCredentialCheck(route, each)]));
}

/** Creates the stage that refuses a credential without the scope of the route. */
export function checkCredentialScope(route: Route, parts: SignInParts): Stage {
  const checks = createScopeChecks(route, parts);
  return {
    name: 'check the scope of the credential',
    run({ caller: { authenticator, auth } }) {
      if (authenticator !== undefined) checks.get(authenticator)!(auth!);
    },
  };
}

/**
 * Creates the stages that check the policy and load what the path names.
 *
 * @param wasSentBefore undefined if the route is not idempotent
 */
export function authorize(
  route: Route,
  parts: AccessParts,
  wasSentBefore: RepeatCheck | undefined,
): (Stage | undefined)[] {
  const policy = compilePolicy(route.policy ?? 'authenticated', () => undefined);
  if (route.authorize === 'handler') return [requireSignIn(policy), authorizeRepeatableCreate(route, parts, policy)];
  const item = findItemEntity(route, parts.records);
  if (item === undefined) return [authorizeWithoutRecord(route, parts, policy)];
  const stage = authorizeAndLoadRecord(route, parts, policy, item);
  return [wasSentBefore === undefined ? stage : tolerateDeletedRecord(stage, item, wasSentBefore)];
}

/** For a handler that checks the policy itself: the body of a caller that must sign in first is never read. */
function requireSignIn(policy: CompiledPolicy): Stage | undefined {
  if (!requiresUser(policy)) return undefined;
  return {
    name: 'require a user',
    run({ caller }) {
      if (caller.user === undefined) throw new ApiError('UNAUTHORIZED');
    },
  };
}

/** Creates the handler of errors of the route's policy functions. */
function createPolicyErrorHandlers(route: Route, { host }: AccessParts) {
  const report = createRuleErrorReporter(host.log);
  const rule = {
    resource: route.resource,
    rule: route.idempotent === 'create' ? 'policies.create' : `policy of ${route.method} ${route.path}`,
  };
  return (req: Request) => createRefusingErrorHandler(report, rule, req);
}

/** For a create whose handler checks the policy itself: a repeated request may be sent a stored response instead. */
function authorizeRepeatableCreate(route: Route, parts: AccessParts, policy: CompiledPolicy): Stage | undefined {
  if (route.idempotent !== 'create') return undefined;
  const onPolicyError = createPolicyErrorHandlers(route, parts);
  return {
    name: 'authorise a create with an idempotency key',
    run(exchange) {
      const { req } = exchange;
      if (req.headers['idempotency-key'] === undefined) return undefined;
      return authorizeCollection(policy, 'create', createViewContext(exchange, parts.host), onPolicyError(req));
    },
  };
}

function authorizeWithoutRecord(route: Route, parts: AccessParts, policy: CompiledPolicy): Stage {
  const { action = 'custom', load } = route;
  const onPolicyError = createPolicyErrorHandlers(route, parts);
  const authorizeCaller = (exchange: Exchange) =>
    authorizeCollection(policy, action, createViewContext(exchange, parts.host), onPolicyError(exchange.req));
  if (load === undefined) return { name: 'authorise', run: authorizeCaller };
  return {
    name: 'authorise and load',
    async run(exchange) {
      await authorizeCaller(exchange);
      const { caller, params } = exchange;
      exchange.doc = await load({ ...createViewContext(exchange, parts.host), auth: caller.auth, params });
    },
  };
}

function authorizeAndLoadRecord(
  { action = 'custom' }: Route,
  { host }: AccessParts,
  policy: CompiledPolicy,
  { resource, store }: Entity,
): Stage {
  return {
    name: 'authorise and load the record',
    async run(exchange) {
      const viewContext = createViewContext(exchange, host);
      exchange.doc = await loadAuthorizedRecord(resource, store, exchange.params.id!, action, policy, viewContext);
    },
  };
}

/**
 * Lets a repeated request pass whose record is missing, if the record existed when the same user sent the request first: that request may
 * have deleted the record, and its response may be repeated to that user. A record that exists but is not visible to the user stays not
 * found.
 */
function tolerateDeletedRecord(stage: Stage, { store }: Entity, wasSentBefore: RepeatCheck): Stage {
  async function isGoneSinceFirstAttempt({ req, caller, params }: Exchange, error: unknown): Promise<boolean> {
    if (caller.user === undefined || !(error instanceof ApiError) || error.code !== 'NOT_FOUND') return false;
    return (await wasSentBefore(req, caller.user)) && (await store.read(params.id!)) === undefined;
  }
  return {
    name: `${stage.name}, unless an earlier attempt deleted it`,
    async run(exchange) {
      try {
        await stage.run(exchange);
        exchange.missingError = undefined;
      } catch (error) {
        if (!(await isGoneSinceFirstAttempt(exchange, error))) throw error;
        exchange.doc = undefined;
        exchange.missingError = error;
      }
    },
  };
}

/** Creates the stage that requires a recent sign-in; undefined if the route does not require one. */
export function requireRecentSignIn({ recentSignIn }: Route, { settings }: Host): Stage | undefined {
  if (!recentSignIn) return undefined;
  const recentMinutes = settings.auth.recentSignIn / 60_000;
  return {
    name: 'require a recent sign-in',
    async run({ caller: { auth, authenticator } }) {
      if (auth === undefined) throw new ApiError('UNAUTHORIZED');
      if ((await authenticator?.isSignInRecent?.(auth.id, recentMinutes)) !== true)
        throw new ApiError('RECENT_SIGN_IN_REQUIRED');
    },
  };
}

/** Creates the stage that decides again: a client could delay its body until after a logout or the loss of a role. */
export function authorizeAgain(stages: readonly Stage[]): Stage {
  return {
    name: 'after a slow body, again',
    stages,
    run: (exchange) => (exchange.isBodySlow ? runStages(stages, exchange) : undefined),
  };
}

/** Creates the stage that requires the scopes of the routes whose work the body asks for. */
export function checkPerformedScopes(
  { performs, organisationKeys = false }: Route,
  parts: SignInParts,
): Stage | undefined {
  if (performs === undefined) return undefined;
  const checks = new Map(
    performs.routes.map((each) => [each, createScopeChecks({ ...each, organisationKeys }, parts)]),
  );
  return {
    name: 'check the scopes of performed routes',
    run({ caller: { authenticator, auth }, body }) {
      if (authenticator === undefined) return;
      for (const each of performs.select(body)) checks.get(each)!.get(authenticator)!(auth!);
    },
  };
}
