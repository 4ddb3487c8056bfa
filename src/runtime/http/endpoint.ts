import type { Request, Response } from 'express';
import type { Actor } from '../../declare/actor.ts';
import type { Host, StoredRecord } from '../../declare/host.ts';
import { compilePolicy } from '../../declare/policy.ts';
import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { declaresForm } from '../../platform/http/bodies/multipart.ts';
import { declaresJsonBody, readJsonBody } from '../../platform/http/json-body.ts';
import { setResponseBytes } from '../../platform/http/pending-responses.ts';
import { setIdentity } from '../../platform/http/request-context.ts';
import {
  createSuccessResponse,
  mapResponseData,
  type SuccessResponse,
  sendSuccess,
  withVersion,
} from '../../platform/http/response.ts';
import { authorizeCollection, loadAuthorizedRecord, requiresUser } from '../../records/access/authorize.ts';
import type { ResolvedViewContext } from '../../records/access/operation-context.ts';
import type { Records } from '../../records/index.ts';
import { reserveId } from '../../records/operations/create.ts';
import { createRefusingErrorHandler, createRuleErrorReporter } from '../../records/schema/rule-errors.ts';
import { findReadableRecords, mayReadAgain } from '../../records/serialize/response-records.ts';
import { serializeResponse, storedRecordOf } from '../../records/serialize/serialize.ts';
import type { Entity } from '../../records/store/entity.ts';
import { assertIfMatch, parseIfMatchHeader, versionOf } from '../../records/store/versions.ts';
import { createSignedOutActor, runAsActor } from '../../rules/acting.ts';
import { setAuthOf } from '../../rules/credential.ts';
import { createCredentialCheck } from '../../rules/credential-scopes.ts';
import type { Deprecations } from './deprecation/index.ts';
import { createIdempotentRequests, readIdempotencyKey } from './idempotency/index.ts';
import { validateBody, validateQuery } from './input.ts';
import type { LimitCheck, WeightCounter } from './limits.ts';
import { type SignedIn, type SignInParts, signIn } from './sign-in.ts';
import { endRequestSpan } from './tracing.ts';
import { openStreamedBody, streamedBodyOf } from './typed-body.ts';

const READS = new Set(['GET', 'HEAD']);

/** Whether a path refers to one record of a resource. */
export function isItemPath(path: string): boolean {
  return /\/:id(\/|$)/.test(path);
}

/** Whether responses of a route get an entity tag. Those of account routes get none: they contain tokens and must not be cached. */
export function hasEntityTag({ path }: Route): boolean {
  return !/^\/auth(\/|$)/.test(path);
}

/**
 * Checks `If-Match` of a route that changes data, before its handler runs. A precondition that cannot be checked is refused, because
 * ignoring it could overwrite a change. Reads evaluate their preconditions with the response.
 *
 * @param entity the entity of a resource's item route
 * @param doc the record, if the endpoint has loaded it; a handler that loads the record itself also checks the precondition itself
 * @throws ApiError BAD_REQUEST or PRECONDITION_FAILED
 */
function assertWritePreconditions(req: Request, entity: Entity | undefined, doc: unknown): void {
  if (READS.has(req.method)) return;
  if (req.headers['if-none-match'] !== undefined) {
    throw new ApiError('BAD_REQUEST', 'If-None-Match is only for GET and HEAD. Use If-Match');
  }
  if (req.headers['if-match'] === undefined) return;
  if (entity === undefined) throw new ApiError('BAD_REQUEST', 'If-Match is only for changes to a single record');
  const ifMatch = parseIfMatchHeader(req);
  if (doc !== undefined) assertIfMatch(entity.versionOf, doc as StoredRecord, ifMatch);
}

/** The dependencies of endpoints. */
export interface EndpointParts extends SignInParts {
  host: Host;
  records: Records;
  /** Undefined if the app declares nothing deprecated. */
  deprecations?: Deprecations | undefined;
}

const SLOW_BODY_MS = 250;

/**
 * Handles one request of a route: signs in, authorises, loads the record in the path, validates the query, reads and validates the body,
 * runs the handler, sends the response.
 */
export type Endpoint = (req: Request, res: Response) => Promise<void>;

/** The rate limits that an endpoint counts its requests against. */
export interface EndpointChecks {
  /** Runs before everything else. */
  checkLimits?: LimitCheck | undefined;
  /** Counts a request of a route with `weight`. */
  countWeight: WeightCounter | undefined;
}

/** Creates the endpoint of a route. Everything that does not depend on the request is decided here, once. */
export function createEndpoint(
  route: Route,
  parts: EndpointParts,
  { checkLimits, countWeight }: EndpointChecks,
): Endpoint {
  const { host, records } = parts;
  const policy = compilePolicy(route.policy ?? 'authenticated', () => undefined);
  const action = route.action ?? 'custom';
  const entity = route.resource === undefined ? undefined : records.entities.get(route.resource);
  const authorizesInHandler = route.authorize === 'handler';
  const takesJson = route.input !== undefined || route.body === 'json';
  const streamed = streamedBodyOf(route);
  const hasMiddleware = (route.middleware?.length ?? 0) > 0;
  const { http } = host.settings;
  const bodyBounds = {
    bodyLimit: route.bodyLimit ?? http.bodyLimit,
    bodyKeys: http.bodyKeys,
    countsRoot: route.input === undefined && route.bodyShape === undefined,
  };
  const status = route.status ?? 200;
  const item = entity !== undefined && isItemPath(route.path) ? entity : undefined;
  const tagged = hasEntityTag(route);
  const idempotent = route.idempotent ? createIdempotentRequests(route, host) : undefined;
  const isCreate = route.idempotent === 'create';
  const createScopeChecks = (of: Route) =>
    new Map(parts.authenticators.map((each) => [each, createCredentialCheck(of, each)]));
  const scopeChecks = createScopeChecks(route);
  const { performs } = route;
  const { organisationKeys = false } = route;
  const performedScopeChecks = new Map(
    performs?.routes.map((each) => [each, createScopeChecks({ ...each, organisationKeys })]),
  );

  const announceDeprecatedFields = parts.deprecations?.createFieldAnnouncer(route);

  const ruleErrors = createRuleErrorReporter(host.log);
  const rule = {
    resource: route.resource,
    rule: isCreate ? 'policies.create' : `policy of ${route.method} ${route.path}`,
  };
  const onPolicyError = (req: Request) => createRefusingErrorHandler(ruleErrors, rule, req);

  /** Checks the policy, or throws. Returns the record of a resource's item route, or the result of the route's own `load`. */
  async function authorizeAndLoadRecord(
    viewContext: ResolvedViewContext & { req: Request },
    auth: SignedIn['auth'],
    params: Record<string, string>,
  ): Promise<unknown> {
    if (authorizesInHandler) {
      // The handler checks the policy itself, but never read the body of a caller who must sign in first.
      if (viewContext.user === undefined && requiresUser(policy)) throw new ApiError('UNAUTHORIZED');
      // Check the policy before a stored response of an earlier request with this key is sent, too.
      if (isCreate && viewContext.req.headers['idempotency-key'] !== undefined) {
        await authorizeCollection(policy, 'create', viewContext, onPolicyError(viewContext.req));
      }
      return undefined;
    }
    if (item === undefined) {
      await authorizeCollection(policy, action, viewContext, onPolicyError(viewContext.req));
      return route.load?.({ ...viewContext, auth, params });
    }
    return loadAuthorizedRecord(item.resource, item.store, params.id!, action, policy, viewContext);
  }

  /** @throws ApiError UNAUTHORIZED; RECENT_SIGN_IN_REQUIRED */
  async function assertRecentSignIn({ auth, authenticator }: SignedIn): Promise<void> {
    if (auth === undefined) throw new ApiError('UNAUTHORIZED');
    const minutes = host.settings.auth.recentSignInMinutes;
    if ((await authenticator?.isSignInRecent?.(auth.id, minutes)) !== true)
      throw new ApiError('RECENT_SIGN_IN_REQUIRED');
  }

  /**
   * Whether a missing record existed when the same user sent a request with the same key: the first request may have deleted the record,
   * and its response may be repeated to that user. A record that exists but is not visible to the user stays not found.
   */
  async function isGoneSinceFirstAttempt(req: Request, user: SignedIn['user'], error: unknown): Promise<boolean> {
    if (idempotent === undefined || item === undefined || user === undefined) return false;
    if (!(error instanceof ApiError) || error.code !== 'NOT_FOUND') return false;
    const key = readIdempotencyKey(req);
    if (key === undefined || !(await idempotent.isRepeated({ req, user, key }))) return false;
    return (await item.store.read(req.params.id as string)) === undefined;
  }

  /**
   * Signs in, authorises, and loads the record.
   *
   * @returns `missingError`: the error for a record that existed at the first attempt but is missing now
   */
  async function authenticateAndAuthorize(
    req: Request,
    actor: Actor,
  ): Promise<SignedIn & { doc: unknown; missingError?: unknown }> {
    const signedIn = await signIn(req, parts);
    const { user, auth, authenticator } = signedIn;
    // From here on, service calls are recorded for the user.
    actor.user = user;
    setIdentity(req, auth && { via: auth.via, id: auth.id, userId: user!.id });
    if (auth !== undefined) setAuthOf(req, auth);
    if (authenticator !== undefined) scopeChecks.get(authenticator)!(auth!);
    try {
      const viewContext = { user, req, service: host.service };
      const params = req.params as Record<string, string>;
      const doc = await authorizeAndLoadRecord(viewContext, auth, params);
      if (route.recentSignIn) await assertRecentSignIn(signedIn);
      return { user, auth, authenticator, doc };
    } catch (error) {
      if (!(await isGoneSinceFirstAttempt(req, user, error))) throw error;
      if (route.recentSignIn) await assertRecentSignIn(signedIn);
      return { user, auth, authenticator, doc: undefined, missingError: error };
    }
  }

  /** Reads and parses the body of a request; undefined if there is none, or if this route does not read bodies. */
  async function readBody(req: Request): Promise<unknown> {
    if (hasMiddleware && req.readableDidRead) return req.body;
    if (streamed !== undefined) return openStreamedBody(req, streamed, bodyBounds);
    if (!takesJson && !(route.body === 'any' && declaresJsonBody(req))) return undefined;
    const body = await readJsonBody(req, bodyBounds);
    req.body = body;
    return body;
  }

  /**
   * Runs the handler and serializes its result. Returns undefined if the handler has sent the response itself.
   *
   * @param onData receives the handler's value before it is serialized
   */
  async function runHandler(ctx: RouteContext, onData?: (data: unknown) => void): Promise<SuccessResponse | undefined> {
    if (!route.checksIfMatch) assertWritePreconditions(ctx.req, item, ctx.doc);
    const value = await route.handler(ctx);
    if (ctx.res.headersSent) {
      // Count the bytes that wait to be sent: this response can no longer be refused, but the client's next ones can.
      setResponseBytes(ctx.req, ctx.res.writableLength, true);
      endRequestSpan(ctx.req, ctx.res.statusCode);
      return undefined;
    }
    const serialized = await mapResponseData(value, (data) => {
      onData?.(data);
      return serializeResponse(records.context, data, ctx);
    });
    return createSuccessResponse(status, withVersion(serialized, versionOf(records.entities, storedRecordOf(value))));
  }

  /** Returns the record that a create stored with this id, even if it was soft-deleted since; undefined if there is none. */
  async function readCreatedRecord(id: string): Promise<StoredRecord | undefined> {
    return isCreate ? (entity!.archive?.with ?? entity!.store).read(id) : undefined;
  }

  /** Rebuilds the response of a create that stored the record with this id. */
  async function rebuildCreateResponse(
    id: string,
    ctx: RouteContext,
    onData: (data: unknown) => void,
  ): Promise<SuccessResponse | undefined> {
    const record = await readCreatedRecord(id);
    if (record === undefined) return undefined;
    onData(record);
    return createSuccessResponse(
      status,
      withVersion(await serializeResponse(records.context, record, ctx), entity!.versionOf(record)),
    );
  }

  function createContext(
    req: Request,
    res: Response,
    { user, auth, doc }: SignedIn & { doc: unknown },
    given: Pick<RouteContext, 'params' | 'query' | 'body'>,
    input: unknown,
  ): RouteContext {
    return {
      user,
      auth,
      input,
      ...given,
      doc,
      req,
      res,
      service: host.service,
      transaction: host.transaction,
      push: host.push,
      mail: host.senders.mail,
      webhooks: host.senders.webhooks,
      jobs: host.senders.jobs,
      log: host.log,
    };
  }

  // The handler of a route with `body: 'json'` validates `ctx.body` itself, so it gets no `ctx.input`.
  const readInput = async (body: unknown): Promise<unknown> => {
    if (route.input !== undefined) return validateBody(route.input, body, bodyBounds.bodyKeys);
    return route.body === 'json' || streamed !== undefined ? undefined : body;
  };

  async function handleRequest(req: Request, res: Response, actor: Actor): Promise<void> {
    await checkLimits?.(req, res);
    let access = await authenticateAndAuthorize(req, actor);
    const params = req.params as Record<string, string>;
    const key = idempotent === undefined ? undefined : readIdempotencyKey(req);
    const query = route.query === undefined ? req.query : await validateQuery(route.query, req.query);
    const startedAt = performance.now();
    const form =
      route.form !== undefined && declaresForm(req)
        ? await route.form({ ...access, params, req, service: host.service })
        : undefined;
    const body = form === undefined ? await readBody(req) : form.values;
    let isHandled = false;
    let response: SuccessResponse | undefined;
    try {
      // A client could delay its body until after a logout or the loss of a role, so authorise again after a slow body.
      if (performance.now() - startedAt > SLOW_BODY_MS) access = await authenticateAndAuthorize(req, actor);
      await countWeight?.(req, res, route.weight!(body));
      if (performs !== undefined && access.authenticator !== undefined) {
        for (const each of performs.select(body))
          performedScopeChecks.get(each)!.get(access.authenticator)!(access.auth!);
      }
      announceDeprecatedFields?.(req, res, { query: query as RouteContext['query'], body });
      const given = { params, query: query as RouteContext['query'], body };
      if (idempotent === undefined || key === undefined) {
        const ctx = createContext(req, res, access, given, await readInput(body));
        isHandled = true;
        response = await runHandler(ctx);
      } else {
        // A repeated request gets its stored response, even if its body does not fit a schema that has changed since.
        const ctx = createContext(req, res, access, given, undefined);
        let sent: unknown;
        const onData = (data: unknown) => {
          sent = data;
        };
        response = await idempotent.run({
          req,
          res,
          user: access.user,
          key,
          // The body of a streamed route cannot be compared.
          body: form === undefined ? (streamed === undefined ? body : undefined) : form.fingerprint,
          async run(recordId) {
            if (access.missingError !== undefined) throw access.missingError;
            reserveId(req, recordId);
            isHandled = true;
            return runHandler({ ...ctx, input: await readInput(body) }, onData);
          },
          records: () => findReadableRecords(records.context, sent, ctx),
          mayReadAgain: (of, data) => mayReadAgain(records.context, of, data, ctx),
          rebuildCreateResponse: (recordId) => rebuildCreateResponse(recordId, ctx, onData),
          isCreated: async (recordId) => (await readCreatedRecord(recordId)) !== undefined,
        });
      }
    } finally {
      // A repeated request, and one that is refused after its form was read, uses none of the form's files.
      if (form !== undefined && !isHandled) await form.discard();
    }
    // Close the connection instead of waiting for the rest of a body that the handler did not read.
    if (streamed !== undefined && !req.complete && !res.headersSent) res.setHeader('Connection', 'close');
    if (response !== undefined) sendSuccess(res, response, tagged ? (access.user?.id ?? '') : undefined);
  }

  return (req, res) => {
    const actor = createSignedOutActor(req);
    return runAsActor(actor, () => handleRequest(req, res, actor));
  };
}
