// What handlers do with a request, whichever server it arrived at.
import {
  createMismatchError,
  DEFAULT_TOLERANCE_SECONDS,
  parseJsonBody,
  parseKey,
  readHead,
  type WebhookKey,
  type WebhookMessage,
  type WebhookPayload,
  WebhookVerificationError,
} from './message.ts';
import { createMemoryStore, type SeenStore } from './seen-store.ts';

/** What a handler knows of a webhook besides its payload. */
export interface WebhookContext {
  /** The `webhook-id`, the same on every attempt. */
  id: string;
}

/** Handles an event. If it throws or rejects, the sender gets a 500 and sends the event again. */
export type WebhookEventHandler<Event> = (event: Event, context: WebhookContext) => unknown;

/** The event of a type. Where types are not known, as in `WebhookPayload`, it is any event. */
export type WebhookEventOf<Events extends { type: string }, Type extends string> = [
  Extract<Events, { type: Type }>,
] extends [never]
  ? Events
  : Extract<Events, { type: Type }>;

/** The handlers by event. */
export type WebhookEventHandlers<Events extends { type: string }> = {
  readonly [Type in Events['type']]?: WebhookEventHandler<WebhookEventOf<Events, Type>>;
};

/** The options of `createWebhookHandler`. */
export interface WebhookHandlerOptions<Events extends { type: string }> {
  /** The endpoint's `whsec_…` or `whpk_…`. Several, if the sender rotates them: a signature of one of them is enough. */
  secret: string | readonly string[];
  /** The handlers by event. Other events get a 204. */
  on?: WebhookEventHandlers<Events>;
  /** Handles the events that `on` does not name, such as those that the sender has added since. */
  onOther?: WebhookEventHandler<WebhookPayload>;
  /** Gets what handlers and the store throw. Default: `console.error`. */
  onError?: (error: unknown) => void;
  /** The maximum distance of the timestamp from now, in both directions. Default: 300. */
  toleranceSeconds?: number;
  /** The maximum length of a body. Default: 1,048,576. */
  maxBodyBytes?: number;
  /** Remembers which webhooks were handled. Default: the memory of this process, for 10,000 webhooks, and all of the last minutes. */
  seen?: SeenStore;
}

/** What a server answers: a status, with a code for all but 204. */
export interface Answer {
  status: number;
  code?: string;
  headers?: Readonly<Record<string, string>>;
}

/** A request to a server. */
export interface IncomingWebhook {
  method: string | undefined;
  headers: unknown;
  /** Reads the body. @throws BodyError if that is impossible */
  readBody(maxBytes: number): Promise<string | Uint8Array>;
}

/** Returns whether one of the signatures of a message was made with a key. */
type SignatureCheck = (key: WebhookKey, message: WebhookMessage) => boolean | Promise<boolean>;

/** A body that cannot be read. */
export class BodyError extends Error {
  readonly answer: Answer;

  constructor(answer: Answer, message = 'The body cannot be read') {
    super(message);
    this.answer = answer;
  }
}

/** Returns the error for a body that is longer than the limit. */
export const createTooLargeError = (): BodyError => new BodyError({ status: 413, code: 'BODY_TOO_LARGE' });

const MAX_BODY_BYTES = 1_048_576;
/** A handler should take less than a second. If its process dies, its webhook is handled by a later attempt. */
const CLAIM_MS = 5 * 60_000;
/** Retries take hours, and people send webhooks again after days. */
const REMEMBER_MS = 7 * 24 * 60 * 60_000;
/** Standard Webhooks has no status for “later”. Senders repeat any failure; this one is no fault of the server. */
const HANDLING: Answer = { status: 409, code: 'BEING_HANDLED', headers: { 'retry-after': '5' } };
const FAILED: Answer = { status: 500, code: 'HANDLER_FAILED' };

async function isGenuineForSome(keys: readonly WebhookKey[], message: WebhookMessage, isGenuine: SignatureCheck) {
  for (const key of keys) if (await isGenuine(key, message)) return true;
  return false;
}

/** Parses the body of a genuine message. @throws WebhookVerificationError if it is not that of an event */
function parseEvent({ body }: WebhookMessage): WebhookPayload {
  const payload = parseJsonBody(body) as WebhookPayload | null;
  if (typeof payload?.type === 'string') return payload;
  throw new WebhookVerificationError('INVALID_PAYLOAD', 'The signature is valid, but the body has no type');
}

/**
 * Creates what answers requests.
 *
 * @throws WebhookVerificationError if a secret is malformed
 */
export function createReceiver<Events extends { type: string }>(
  { secret, on = {}, onOther, toleranceSeconds = DEFAULT_TOLERANCE_SECONDS, ...options }: WebhookHandlerOptions<Events>,
  isGenuine: SignatureCheck,
): (request: IncomingWebhook) => Promise<Answer> {
  const {
    onError: onErrorOfApp = (error) => console.error(error),
    maxBodyBytes = MAX_BODY_BYTES,
    // A message arrives at the earliest when its time is that far in the future.
    seen = createMemoryStore(2 * toleranceSeconds * 1000),
  } = options;
  // An empty list is refused like a missing secret.
  const keys = (typeof secret === 'object' && secret.length > 0 ? secret : [secret]).map(parseKey);

  /** A failure to report an error must not end the process. */
  function onError(error: unknown): void {
    Promise.resolve()
      .then(() => onErrorOfApp(error))
      .catch((failure: unknown) => console.error(failure));
  }

  async function report(work: () => unknown): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      onError(error);
      return false;
    }
  }

  async function handle(id: string, payload: WebhookPayload): Promise<Answer> {
    const handlers = on as Readonly<Record<string, WebhookEventHandler<WebhookPayload> | undefined>>;
    const handler = (Object.hasOwn(handlers, payload.type) ? handlers[payload.type] : undefined) ?? onOther;
    if (handler === undefined) return { status: 204 };
    const claim = await seen.claim(id, CLAIM_MS);
    if (claim === 'handled') return { status: 204 };
    if (claim === 'handling') return HANDLING;
    if (!(await report(() => handler(payload, { id })))) {
      await report(() => seen.release(id));
      return FAILED;
    }
    // The event is handled, whether or not the store remembers it. A failure would only have it handled again.
    await report(() => seen.complete(id, REMEMBER_MS));
    return { status: 204 };
  }

  return async ({ method, headers, readBody }) => {
    if (method !== 'POST') return { status: 405, code: 'METHOD_NOT_ALLOWED', headers: { allow: 'POST' } };
    try {
      // Before the body is read, which costs memory.
      const head = readHead(headers, { toleranceSeconds });
      const message = { ...head, body: await readBody(maxBodyBytes) };
      if (!(await isGenuineForSome(keys, message, isGenuine))) throw createMismatchError();
      return await handle(message.id, parseEvent(message));
    } catch (error) {
      if (error instanceof WebhookVerificationError)
        return { status: error.code === 'SIGNATURE_MISMATCH' ? 401 : 400, code: error.code };
      if (error instanceof BodyError && error.answer.status < 500) return error.answer;
      onError(error);
      return error instanceof BodyError ? error.answer : FAILED;
    }
  };
}
