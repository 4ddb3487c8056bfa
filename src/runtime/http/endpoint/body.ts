import type { Request } from 'express';
import type { Host } from '../../../declare/host.ts';
import type { Route } from '../../../declare/route.ts';
import { declaresForm } from '../../../platform/http/bodies/multipart.ts';
import { declaresJsonBody, readJsonBody } from '../../../platform/http/json-body.ts';
import { createViewContext } from './access.ts';
import { type Exchange, runStages, type Stage } from './exchange.ts';
import { getStreamedBody, openStreamedBody } from './typed-body.ts';

/** Sessions can end and roles can change while a client sends its body, so a caller is authorised again after this time. */
const SLOW_BODY_MS = 250;

/** Reads the body of a request; undefined if there is none to read. */
type BodyReader = (req: Request) => Promise<unknown> | undefined;

/** Creates the reader of bodies other than forms; undefined if the route reads none. */
function createBodyReader(route: Route, { http }: Host['settings']): BodyReader | undefined {
  const streamed = getStreamedBody(route);
  const bounds = {
    bodyLimit: route.bodyLimit ?? http.bodyLimit,
    bodyKeys: http.bodyKeys,
    countsRoot: route.input === undefined && route.bodyShape === undefined,
  };
  if (streamed !== undefined) return (req) => openStreamedBody(req, streamed, bounds);
  const readJson = async (req: Request) => {
    req.body = await readJsonBody(req, bounds);
    return req.body;
  };
  if (route.input !== undefined || route.body === 'json') return readJson;
  return route.body === 'any' ? (req) => (declaresJsonBody(req) ? readJson(req) : undefined) : undefined;
}

/** Prefers the body that middleware has read. */
function withMiddlewareBody({ middleware = [] }: Route, read: BodyReader | undefined): BodyReader | undefined {
  if (middleware.length === 0) return read;
  return (req) => (req.readableDidRead ? Promise.resolve(req.body) : read?.(req));
}

/** Creates the stage that reads or opens the body, and notices whether that took long; undefined if the route reads none. */
export function readBody(route: Route, host: Host): Stage | undefined {
  const read = withMiddlewareBody(route, createBodyReader(route, host.settings));
  const { form: readForm } = route;
  if (read === undefined && readForm === undefined) return undefined;
  // Otherwise a schema returns the input, or the handler validates the body itself.
  const isInput = route.input === undefined && route.body !== 'json' && getStreamedBody(route) === undefined;

  return {
    name: readForm === undefined ? 'read the body' : 'read the form or the body',
    async run(exchange) {
      const { req, caller, params } = exchange;
      const startedAt = performance.now();
      if (readForm !== undefined && declaresForm(req)) {
        exchange.form = await readForm({ ...createViewContext(exchange, host), auth: caller.auth, params });
        exchange.body = exchange.form.values;
      } else exchange.body = await read?.(req);
      exchange.isBodySlow = performance.now() - startedAt > SLOW_BODY_MS;
      if (isInput) exchange.input = exchange.body;
    },
  };
}

/**
 * Runs the stages that follow the reading of a form, and then discards the form unless the handler ran: a repeated request, and one that is
 * refused, uses none of the form's files.
 */
export function discardUnusedForm(route: Route, stages: readonly Stage[]): readonly Stage[] {
  if (route.form === undefined) return stages;
  const run = async (exchange: Exchange) => {
    try {
      await runStages(stages, exchange);
    } finally {
      if (exchange.context === undefined) await exchange.form?.discard();
    }
  };
  return [{ name: 'discard the form unless the handler runs', stages, run }];
}

/** Creates the stage that closes the connection instead of waiting for the rest of a streamed body that the handler did not read. */
export function closeIfUnread(route: Route): Stage | undefined {
  if (getStreamedBody(route) === undefined) return undefined;
  return {
    name: 'close the connection after an unread body',
    run({ req, res }) {
      if (!req.complete && !res.headersSent) res.setHeader('Connection', 'close');
    },
  };
}
