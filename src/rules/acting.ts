import { AsyncLocalStorage } from 'node:async_hooks';
import type { Request } from 'express';
import type { Actor } from '../declare/actor.ts';
import { getRequestId } from '../platform/http/request-context.ts';

const actorStorage = new AsyncLocalStorage<Actor>();

/** Creates the actor of a request that is not signed in yet. */
export function createSignedOutActor(req: Request): Actor {
  return { user: undefined, req, requestId: getRequestId(req) };
}

/** Runs `work` on behalf of an actor: the events and audit entries of service calls inside `work` name that user and request. */
export function runAsActor<T>(actor: Actor, work: () => T): T {
  return actorStorage.run(actor, work);
}

/** Like `runAsActor`, but stays in the current context if that already belongs to the actor. Entering another context takes a microsecond. */
export function continueAsActor<T>(actor: Actor, work: () => T): T {
  const current = currentActor();
  const isSame =
    current !== undefined &&
    current.user === actor.user &&
    current.req === actor.req &&
    current.requestId === actor.requestId;
  return isSame ? work() : runAsActor(actor, work);
}

/** The current actor; undefined outside of requests and of calls on behalf of a user. */
export function currentActor(): Actor | undefined {
  return actorStorage.getStore();
}

/** Runs a policy or scope function for a viewer. Service calls of the function with `{ as: 'user' }` act as that viewer. */
export function runForViewer<T>({ user, req }: Pick<Actor, 'user'> & { req?: Request | undefined }, work: () => T): T {
  const actor = currentActor();
  if (actor !== undefined && actor.user === user && actor.req === req) return work();
  return actorStorage.run({ user, req, requestId: req && getRequestId(req) }, work);
}
