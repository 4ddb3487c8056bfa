/** Every error code that a response can contain, with its status and default public text: the only catalogue of errors. */
export const ERROR_CODES = {
  BAD_REQUEST: { status: 400, message: 'The request is malformed' },
  INVALID_JSON: { status: 400, message: 'The body is not valid JSON' },
  INVALID_TOKEN: { status: 400, message: 'This reset link is invalid or has expired' },
  UNAUTHORIZED: { status: 401, message: 'You must be signed in' },
  FORBIDDEN: { status: 403, message: 'You are not allowed to do this' },
  RECENT_SIGN_IN_REQUIRED: { status: 403, message: 'This action requires a recent sign-in; sign in again' },
  NOT_FOUND: { status: 404, message: 'Not found' },
  METHOD_NOT_ALLOWED: { status: 405, message: 'This path does not support this method' },
  REQUEST_TIMEOUT: { status: 408, message: 'The request did not arrive in time' },
  CONFLICT: { status: 409, message: 'This value is already taken' },
  LIMIT_REACHED: { status: 409, message: 'The limit has been reached' },
  API_KEY_LIMIT: { status: 409, message: 'You have reached the maximum number of API keys' },
  PRECONDITION_FAILED: { status: 412, message: 'The record has changed since you read it' },
  PAYLOAD_TOO_LARGE: { status: 413, message: 'The body is too large' },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, message: 'The body must be application/json in UTF-8' },
  RANGE_NOT_SATISFIABLE: { status: 416, message: 'The file does not have this range of bytes' },
  EXPECTATION_FAILED: { status: 417, message: 'The only supported value of the Expect header is 100-continue' },
  VALIDATION_ERROR: { status: 422, message: 'The request is invalid' },
  IDEMPOTENCY_KEY_REUSED: { status: 422, message: 'This Idempotency-Key was already used with a different request' },
  HEADERS_TOO_LARGE: { status: 431, message: 'The request line and headers are too large' },
  RATE_LIMITED: { status: 429, message: 'Too many requests; try again later' },
  INTERNAL: { status: 500, message: 'Something went wrong' },
  UNAVAILABLE: { status: 503, message: 'The service is temporarily unavailable' },
  STORAGE_FULL: { status: 507, message: 'The server has no room for this file' },
} as const satisfies Record<string, { status: number; message: string }>;

/** A code of the catalogue. */
export type ErrorCode = keyof typeof ERROR_CODES;

/** The details of a validation error: a message for each invalid field, by its name or path (`address.city`). */
export type ErrorDetails = Record<string, string>;

// A list of 90,000 invalid fields helps nobody and would be larger than the request.
/** The maximum number of details in an error. Validation stops collecting errors at this number. */
export const MAX_DETAILS = 100;
// Longer field names are truncated in an error: the start of a name is enough to recognize it.
const MAX_NAME_LENGTH = 256;

function limitDetails(details: ErrorDetails): ErrorDetails {
  const names = Object.keys(details);
  if (names.length <= MAX_DETAILS && names.every((name) => name.length <= MAX_NAME_LENGTH)) return details;
  const shortenName = (name: string) => (name.length <= MAX_NAME_LENGTH ? name : `${name.slice(0, MAX_NAME_LENGTH)}…`);
  return Object.fromEntries(names.slice(0, MAX_DETAILS).map((name) => [shortenName(name), details[name]!]));
}

/** An error that a client may see: its message and the first 100 of its details are public. The cause, if any, is only logged. */
export class ApiError extends Error {
  /** The status of the HTTP response. */
  readonly status: number;
  readonly code: ErrorCode;
  /** Messages by input, such as `title` or `address.city`. */
  readonly details: ErrorDetails | undefined;
  /** Seconds after which a retry is worthwhile: the `Retry-After` header of the response. */
  readonly retryAfter: number | undefined;

  /**
   * @param code a code of the catalogue; it determines the status
   * @param message public text; default: the message in the catalogue
   */
  constructor(
    code: ErrorCode,
    message?: string,
    options: { details?: ErrorDetails; retryAfter?: number; cause?: unknown } = {},
  ) {
    if (!Object.hasOwn(ERROR_CODES, code)) {
      throw new TypeError(`"${code}" is not an error code. Error codes: ${Object.keys(ERROR_CODES).join(', ')}`);
    }
    super(message ?? ERROR_CODES[code].message, 'cause' in options ? { cause: options.cause } : undefined);
    this.name = 'ApiError';
    this.code = code;
    this.status = ERROR_CODES[code].status;
    this.details = options.details && limitDetails(options.details);
    this.retryAfter = options.retryAfter;
  }
}

/**
 * The 401 response to a token that is present but invalid, on every route, including public ones. Clients recognize it by its message, which is
 * therefore the same in every language.
 */
export function invalidSessionError(): ApiError {
  return new ApiError('UNAUTHORIZED', 'Session is invalid or has expired');
}

/** The 422 response to a body with invalid fields: `details` maps each field to its message. */
export function validationError(details: ErrorDetails): ApiError {
  return new ApiError('VALIDATION_ERROR', undefined, { details });
}

/**
 * The error for administrators who would clear failed attempts or a lock of their own account. A stolen session could otherwise guess the password
 * and the codes of its user without limit.
 */
export function ownLockoutError(): ApiError {
  return new ApiError('FORBIDDEN', 'You cannot clear failed attempts of your own account; ask another administrator');
}
