import type { Request, Response } from 'express';
import type { Route } from '../../../declare/route.ts';
import { createSignedOutActor, runAsActor } from '../../../rules/acting.ts';
import type { Deprecations } from '../deprecation/index.ts';
import type { LimitCheck, WeightCounter } from '../limits.ts';
import {
  type AccessParts,
  authorize,
  authorizeAgain,
  checkCredentialScope,
  checkPerformedScopes,
  requireRecentSignIn,
  signInCaller,
} from './access.ts';
import { closeIfUnread, discardUnusedForm, readBody } from './body.ts';
import { createExchange, omitMissingStages, runStages, type Stage } from './exchange.ts';
import { createIdempotency } from './idempotent-run.ts';
import { createInputStage, createQueryStage } from './input.ts';
import { checkWritePreconditions } from './preconditions.ts';
import { runHandler, send, serialize } from './respond.ts';

/** The dependencies of endpoints. */
export interface EndpointParts extends AccessParts {
  /** Undefined if the app declares nothing deprecated. */
  deprecations?: Deprecations | undefined;
}

/** The rate limits that an endpoint counts its requests against. */
export interface EndpointChecks {
  /** Runs before everything else. */
  checkLimits?: LimitCheck | undefined;
  /** Counts a request of a route with `weight`. */
  countWeight: WeightCounter | undefined;
}

/** Handles one request of a route: runs the stages of the route. */
export type Endpoint = (req: Request, res: Response) => Promise<void>;

/** Creates the endpoint of a route. Everything that does not depend on the request is decided here, once. */
export function createEndpoint(route: Route, parts: EndpointParts, checks: EndpointChecks): Endpoint {
  const stages = listStages(route, parts, checks);
  return (req, res) => {
    const actor = createSignedOutActor(req);
    return runAsActor(actor, () => runStages(stages, createExchange(req, res, actor)));
  };
}

/**
 * Lists what happens to a request of a route, in this order. The order decides which of several errors a client gets, and what a request
 * costs that is refused: first the cheap checks and those that reveal nothing, then access, then the content. A stage that the route does
 * not need is left out.
 */
export function listStages(route: Route, parts: EndpointParts, checks: EndpointChecks): Stage[] {
  const { host, records } = parts;
  const idempotency = createIdempotency(route, parts);
  const body = readBody(route, host);
  const access = omitMissingStages(
    signInCaller(parts),
    checkCredentialScope(route, parts),
    ...authorize(route, parts, idempotency?.wasSentBefore),
    requireRecentSignIn(route, host),
  );
  // Under a key, all of these run once: a repeated request gets its stored response, even if its body does not fit a schema that has changed.
  const handling = omitMissingStages(
    checkWritePreconditions(route, records),
    createInputStage(route, host.settings.http.bodyKeys),
    runHandler(route, host, access),
    serialize(route, records),
  );
  const afterBody = omitMissingStages(
    body && authorizeAgain(access),
    countWeight(route, checks.countWeight),
    checkPerformedScopes(route, parts),
    announceDeprecatedFields(route, parts.deprecations),
    ...(idempotency === undefined ? handling : [idempotency.runOnce(handling)]),
  );
  return omitMissingStages(
    checkLimits(checks.checkLimits),
    ...access,
    idempotency?.readKey,
    createQueryStage(route),
    body,
    ...discardUnusedForm(route, afterBody),
    closeIfUnread(route),
    send(route),
  );
}

function checkLimits(check: LimitCheck | undefined): Stage | undefined {
  return check && { name: 'check the limits', run: ({ req, res }) => check(req, res) };
}

function countWeight({ weight }: Route, count: WeightCounter | undefined): Stage | undefined {
  if (count === undefined) return undefined;
  return { name: 'count the weight', run: ({ req, res, body }) => count(req, res, weight!(body)) };
}

function announceDeprecatedFields(route: Route, deprecations: Deprecations | undefined): Stage | undefined {
  const announce = deprecations?.createFieldAnnouncer(route);
  if (announce === undefined) return undefined;
  return {
    name: 'announce deprecated fields',
    run({ req, res, query, body }) {
      announce(req, res, { query, body });
    },
  };
}
