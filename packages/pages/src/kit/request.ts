import { language } from './language.ts';

/** The `error` of a response. */
interface ErrorBody {
  code?: string;
  message?: string;
  details?: Record<string, string>;
  requestId?: string;
}

/** An error of the server, or of the connection (`status` 0). `details` has a message for each field. */
export class RequestError extends Error {
  /** undefined: an error of the page itself. */
  readonly status: number | undefined;
  readonly code: string | undefined;
  readonly details: Readonly<Record<string, string>>;
  readonly requestId: string | undefined;
  /** After how many seconds the server accepts the request again. */
  readonly retryAfter: number | undefined;

  constructor(
    status: number | undefined,
    message: string,
    { code, details, requestId }: ErrorBody = {},
    retryAfter?: number,
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.details = details ?? {};
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

/** Returns what was thrown as an error that can be shown. */
export function toRequestError(error: unknown): RequestError {
  if (error instanceof RequestError) return error;
  return new RequestError(undefined, error instanceof Error ? error.message : String(error));
}

export interface RequestOptions {
  /** Default: GET. */
  method?: string;
  /** A string, Blob or FormData is sent as it is, everything else as JSON. */
  body?: unknown;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal | undefined;
  /** Of the session. */
  token?: string | undefined;
  credentials?: RequestCredentials;
}

/** What the page says about errors that have no message of the server. */
interface RequestTexts {
  unreachable: string;
  unexpected: string;
}

const isAbort = (error: unknown) => error instanceof DOMException && error.name === 'AbortError';

async function readError(response: Response): Promise<ErrorBody> {
  const content: { error?: ErrorBody } | undefined = await response.json().catch(() => undefined);
  return content?.error ?? {};
}

/**
 * Sends a request. Messages of errors come in the language of the page.
 *
 * @returns a response that is a success
 * @throws RequestError; AbortError
 */
export async function sendRequest(
  url: string,
  { method = 'GET', body, headers = {}, signal, token, credentials = 'same-origin' }: RequestOptions,
  texts: RequestTexts,
): Promise<Response> {
  const isRaw = body === undefined || typeof body === 'string' || body instanceof Blob || body instanceof FormData;
  let response: Response;
  try {
    response = await fetch(url, {
      method,
      body: isRaw ? body : JSON.stringify(body),
      headers: {
        'Belfry-Language': language,
        ...(!isRaw && { 'Content-Type': 'application/json' }),
        ...(token !== undefined && { Authorization: `Bearer ${token}` }),
        ...headers,
      },
      signal,
      credentials,
      cache: 'no-store',
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    throw new RequestError(0, texts.unreachable);
  }
  if (response.ok) return response;
  const error = await readError(response);
  const retryAfter = Number(response.headers.get('Retry-After') ?? Number.NaN);
  throw new RequestError(
    response.status,
    error.message ?? texts.unexpected,
    error,
    Number.isNaN(retryAfter) ? undefined : retryAfter,
  );
}
