/** A query string as an object. A list is joined by commas; undefined and null leave a parameter out. */
export type QueryParameters = Readonly<
  Record<string, string | number | boolean | Date | null | undefined | readonly (string | number | boolean | Date)[]>
>;

/** Options of every call that sends a request. */
export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. */
  signal?: AbortSignal | undefined;
  /** ms until the call rejects with the code `TIMEOUT`, all attempts together. Default: the `timeoutMs` of the client. */
  timeoutMs?: number | undefined;
  /** Headers in addition to those of the client. */
  headers?: Readonly<Record<string, string>> | undefined;
}

/** A request to the API. */
export interface ApiRequest extends CallOptions {
  method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Below `/api`, beginning with a slash: `/posts/65f0…`. The caller has encoded its segments. */
  path: string;
  query?: QueryParameters | undefined;
  /** Sent as JSON; undefined: no body. */
  json?: unknown;
  /** A body that is sent as it is: a form, a file. Not with `json`. */
  body?: RequestInit['body'] | undefined;
  /** The token of the request instead of that of the session. null: no token. */
  token?: string | null | undefined;
  /**
   * `safe`: the request may be repeated after a network error, a 429 or a 503, with an `Idempotency-Key` if it is a POST. `never`: it is sent
   * once. Default: `safe` for GET, else `never`.
   */
  retry?: 'safe' | 'never' | undefined;
  /** Sends the request instead of the `fetch` of the client, such as one that reports the progress of an upload. */
  fetch?: typeof fetch | undefined;
}

/** A successful response. */
export interface ApiResponse<Data = unknown, Meta = unknown> {
  status: number;
  headers: Headers;
  /** The `data` of the body, or the whole body if it has none; undefined without a body. */
  data: Data;
  /** The `meta` of the body, if it has one. */
  meta: Meta;
}

/** Sends requests with the token of the session. Every part of the client uses it. */
export interface Requester {
  /** The address of the app, without a slash at the end: `https://api.example.com`. */
  readonly url: string;
  /**
   * @throws ApiError for a response that is not successful, and for requests without a response (code `NETWORK_ERROR` or `TIMEOUT`); the
   *   reason of `signal` if it ends the call
   */
  send<Data = unknown, Meta = unknown>(request: ApiRequest): Promise<ApiResponse<Data, Meta>>;
  /** Like `send`, but resolves with the response as soon as its headers have arrived, for streams and downloads. `timeoutMs` ends then. */
  open(request: ApiRequest): Promise<Response>;
}

/** Where a requester gets its token. Implemented by the session of the client. */
export interface TokenSource {
  /** The token of the current session; undefined if nobody is signed in. A promise only while a storage is being read. */
  getToken(): string | undefined | Promise<string | undefined>;
  /** Called when the server has refused the token of a session, not a field of a request: the session has ended. */
  onTokenRefused(token: string): void;
  /**
   * Called when a request of the session needs a recent sign-in. If it resolves with true, the user has confirmed who they are, and the
   * request is sent again, once.
   *
   * @param token of the request
   */
  confirmRecentSignIn?(token: string): boolean | Promise<boolean>;
}
