import type { Request, Response } from 'express';
import type { Actor } from '../../../declare/actor.ts';
import type { Route, RouteContext } from '../../../declare/route.ts';
import type { SuccessResponse } from '../../../platform/http/response.ts';
import { SIGNED_OUT, type SignedIn } from '../sign-in.ts';

/** A form that a route's own `form` has read. */
type Form = Awaited<ReturnType<NonNullable<Route['form']>>>;

/** A request on its way through the stages of its endpoint. Each stage reads what earlier stages have set. */
export interface Exchange {
  readonly req: Request;
  readonly res: Response;
  readonly params: Record<string, string>;
  /** The actor that service calls are recorded for. */
  readonly actor: Actor;
  caller: SignedIn;
  /** The record of an item route, or the result of the route's `load`. */
  doc: unknown;
  /** The error for a record that existed at the first attempt of this request but is missing now. */
  missingError: unknown;
  /** The `Idempotency-Key`. */
  key: string | undefined;
  query: RouteContext['query'];
  /** The parsed or opened body. */
  body: unknown;
  form: Form | undefined;
  isBodySlow: boolean;
  /** The validated body. Without a schema: the body, unless the handler validates it. */
  input: unknown;
  /** What the handler received; undefined until it runs. */
  context: RouteContext | undefined;
  /** What the handler returned. */
  value: unknown;
  /** The data in that value or in a stored record, before it is serialized. */
  data: unknown;
  /** Undefined if the handler has sent the response itself. */
  response: SuccessResponse | undefined;
}

// Express parses the query string when it is read, and refuses it then if it is malformed.
const NO_QUERY: RouteContext['query'] = {};

/** Creates the exchange of a request that has passed no stage yet. */
export function createExchange(req: Request, res: Response, actor: Actor): Exchange {
  return {
    req,
    res,
    params: req.params as Record<string, string>,
    actor,
    caller: SIGNED_OUT,
    doc: undefined,
    missingError: undefined,
    key: undefined,
    query: NO_QUERY,
    body: undefined,
    form: undefined,
    isBodySlow: false,
    input: undefined,
    context: undefined,
    value: undefined,
    data: undefined,
    response: undefined,
  };
}

/** One step of an endpoint. It is created once per route; a route that does not need it does not have it. */
export interface Stage {
  name: string;
  /** Returns a promise only if there is something to wait for, because waiting costs time. @throws ApiError, which ends the request */
  run(exchange: Exchange): Promise<void> | undefined;
  /** The stages that `run` runs, if any. */
  stages?: readonly Stage[];
}

/** Leaves out the stages that a route does not need. */
export function omitMissingStages(...stages: readonly (Stage | undefined)[]): Stage[] {
  return stages.filter((stage) => stage !== undefined);
}

/** Runs stages in sequence, until one throws. */
export async function runStages(stages: readonly Stage[], exchange: Exchange): Promise<void> {
  for (const stage of stages) {
    const pending = stage.run(exchange);
    if (pending !== undefined) await pending;
  }
}
