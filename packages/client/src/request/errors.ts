/** The codes of errors that the client itself reports; all other codes are those of the API. */
export type ClientErrorCode = 'NETWORK_ERROR' | 'TIMEOUT' | 'INVALID_RESPONSE' | 'CLIENT_ERROR';

/** What an `ApiError` is made of. */
export interface ApiErrorOptions<Details> {
  status: number;
  code: string;
  message: string;
  details?: Details | undefined;
  requestId?: string | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/**
 * A request that failed: the API has refused it, or there was no usable response.
 *
 * @example
 * try {
 *   await client.posts.create({ title: '' });
 * } catch (error) {
 *   if (error instanceof ApiError && error.code === 'VALIDATION_ERROR') showErrors(error.details);
 *   else throw error;
 * }
 */
export class ApiError<Details = Partial<Record<string, string>>> extends Error {
  /** The status of the response; 0 if there was none. */
  readonly status: number;
  /**
   * A code of the API, such as `VALIDATION_ERROR`. Without a response: `NETWORK_ERROR` or `TIMEOUT`. `INVALID_RESPONSE`: the response is not
   * one of the API, such as the page of a proxy. `CLIENT_ERROR`: live data failed before a request, such as by an invalid filter; see `cause`.
   */
  readonly code: ClientErrorCode | (string & {});
  /** Messages by field, or by path in a field (`address.city`); empty if the error is not about fields. */
  readonly details: Details;
  /** The id of the request in the logs of the server. */
  readonly requestId: string | undefined;
  /** ms after which the server accepts another attempt, if it says so. */
  readonly retryAfterMs: number | undefined;

  constructor({ status, code, message, details, requestId, retryAfterMs, cause }: ApiErrorOptions<Details>) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.details = details ?? ({} as Details);
    this.requestId = requestId;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Returns an error as an `ApiError`. Any other error becomes its `cause`, and `prefix` begins the message. */
export function toApiError(cause: unknown, code: ClientErrorCode = 'CLIENT_ERROR', prefix = ''): ApiError {
  if (cause instanceof ApiError) return cause;
  const message = `${prefix}${cause instanceof Error ? cause.message : cause}`;
  return new ApiError({ status: 0, code, message, cause });
}

/** The error members of a response, as far as they can be trusted to be there. */
interface ErrorBody {
  error?: { code?: unknown; message?: unknown; details?: unknown };
}

/** ms until the time in a `Retry-After` header: seconds or an HTTP date. Undefined if the header is missing, invalid or in the past. */
function parseRetryAfter(header: string | null): number | undefined {
  if (header === null) return undefined;
  const ms = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return ms >= 0 ? ms : undefined;
}

/** Whether the content of a response is JSON, by its header. */
export function isJson({ headers }: Response): boolean {
  return /^\s*application\/([\w.-]+\+)?json\s*(;|$)/i.test(headers.get('content-type') ?? '');
}

/** The error for a response that the API cannot have sent: another server, or a proxy, has responded. Its body is not read. */
export function createInvalidResponseError(response: Response, request: string, reason?: string): ApiError {
  response.body?.cancel().catch(() => undefined);
  const type = response.headers.get('content-type') ?? 'no content type';
  return new ApiError({
    status: response.status,
    code: 'INVALID_RESPONSE',
    message: `${request} responded with ${response.status} and ${reason ?? `${type} instead of JSON`}. Check the url and the proxies`,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterMs: parseRetryAfter(response.headers.get('retry-after')),
  });
}

/**
 * Creates the error of a response that is not successful.
 *
 * @param request the method and the address, for messages
 */
export async function readApiError(response: Response, request: string): Promise<ApiError> {
  if (!isJson(response)) return createInvalidResponseError(response, request);
  const body = (await response.json().catch((error: unknown) => {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  })) as ErrorBody | null | undefined;
  const { code, message, details } = body?.error ?? {};
  if (typeof code !== 'string') return createInvalidResponseError(response, request, 'JSON without an error');
  return new ApiError({
    status: response.status,
    code,
    message: String(message ?? code),
    details: details as Partial<Record<string, string>> | undefined,
    requestId: response.headers.get('x-request-id') ?? undefined,
    retryAfterMs: parseRetryAfter(response.headers.get('retry-after')),
  });
}
