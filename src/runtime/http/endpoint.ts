import type { Request, Response } from 'express';
import type { Authenticator, Host } from '../../declare/host.ts';
import { compilePolicy } from '../../declare/policy.ts';
import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/errors.ts';
import { answerOf, sendAnswer, withVersion } from '../../platform/http/answer.ts';
import { readJsonBody } from '../../platform/http/json-body.ts';
import { authorizeCollection, loadAuthorized, needsUser } from '../../records/access.ts';
import type { Records } from '../../records/index.ts';
import { versionOf } from '../../records/version.ts';
import { checkInput } from './check-input.ts';
import { checkPreconditions, isItemPath, isTagged } from './etag.ts';
import { presentRecords } from './present-records.ts';
import { setIdentity } from './request-log.ts';
import { type SignedIn, signIn } from './sign-in.ts';

/** What endpoints are made from. */
export interface EndpointParts {
  host: Host;
  records: Records;
  authenticators: readonly Authenticator[];
}

const SLOW_BODY_MS = 250;

/** Handles one request of a route: sign in, authorise, read and check the body, run the handler, answer. */
export type Endpoint = (req: Request, res: Response) => Promise<void>;

/** Makes the endpoint of a route. Everything that does not depend on the request is decided here, once. */
export function createEndpoint(route: Route, parts: EndpointParts): Endpoint {
  const { host, records } = parts;
  const policy = compilePolicy(route.policy ?? 'authenticated', () => undefined);
  const action = route.action ?? 'custom';
  const entity = route.resource === undefined ? undefined : records.entities.get(route.resource);
  const byHandler = route.authorize === 'handler';
  const takesBody = route.input !== undefined || route.body === 'json';
  const status = route.status ?? 200;
  const item = entity !== undefined && isItemPath(route.path) ? entity : undefined;
  const tagged = isTagged(route);

  /** Asks the policy. Gives the record of an item route of a resource. */
  async function authorize(looking: SignedIn & { req: Request }, params: Record<string, string>): Promise<unknown> {
    if (byHandler) {
      // The rest is the handler's, but nobody's body is read who may not send one.
      if (looking.user === undefined && needsUser(policy)) throw new ApiError('UNAUTHORIZED');
      return undefined;
    }
    if (item === undefined) {
      await authorizeCollection(policy, action, looking);
      return undefined;
    }
    return loadAuthorized(item.resource, item.store, params.id!, action, policy, looking);
  }

  /** Who asks, whether he may, and the record that it is about. */
  async function admit(req: Request): Promise<SignedIn & { doc: unknown }> {
    const { user, auth } = await signIn(req, parts.authenticators);
    setIdentity(req, auth);
    return { user, auth, doc: await authorize({ user, auth, req }, req.params as Record<string, string>) };
  }

  return async (req, res) => {
    let admitted = await admit(req);
    const params = req.params as Record<string, string>;
    const begun = performance.now();
    const body = takesBody ? await readJsonBody(req, host.settings.http.bodyLimit) : undefined;
    // A body that is kept back must not outlive a logout, or the loss of a role, in the meantime.
    if (performance.now() - begun > SLOW_BODY_MS) admitted = await admit(req);
    const { user, auth, doc } = admitted;
    checkPreconditions(req, item, doc);
    const input = route.input === undefined ? undefined : await checkInput(route.input, body);
    const ctx: RouteContext = {
      user,
      auth,
      input,
      body,
      params,
      query: req.query as RouteContext['query'],
      doc,
      req,
      res,
      service: host.service,
      push: host.push,
      log: host.log,
    };
    const value = await route.handler(ctx);
    if (res.headersSent) return;
    const shown = byHandler
      ? value
      : withVersion(await presentRecords(records, value, { user, req }), versionOf(records.entities, value));
    sendAnswer(res, answerOf(status, shown), tagged ? (user?.id ?? '') : undefined);
  };
}
