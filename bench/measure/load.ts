import { Pool } from 'undici';
import { percentile } from './statistics.ts';

/** One request of a load, and its expected status. Any other status makes the run void. */
export interface LoadRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'PUT';
  path: string;
  token?: string;
  /** Headers besides those that follow from the other properties. */
  headers?: Record<string, string>;
  body?: string;
  idempotencyKey?: string;
  status: number;
}

/** The result of a load. */
export interface Throughput {
  requests: number;
  perSecond: number;
  /** In ms. */
  p50: number;
  p99: number;
}

/** Returns all headers of a request. */
export function createHeaders({ token, headers, body, idempotencyKey }: LoadRequest): Record<string, string> {
  const all: Record<string, string> = { ...headers };
  if (token !== undefined) all.authorization = `Bearer ${token}`;
  if (body !== undefined) all['content-type'] = 'application/json';
  if (idempotencyKey !== undefined) all['idempotency-key'] = idempotencyKey;
  return all;
}

/** Sends one request and resolves when its response is read. `dispatch` costs the generator half as much as `request`. */
function sendRequest(pool: Pool, request: LoadRequest): Promise<void> {
  const { method, path, body, status } = request;
  const headers = createHeaders(request);
  return new Promise((resolve, reject) => {
    let responseStatus = 0;
    let text = '';
    pool.dispatch(
      { method, path, headers, body: body ?? null },
      {
        onRequestStart() {},
        onResponseStart(_controller, code) {
          responseStatus = code;
        },
        onResponseData(_controller, chunk) {
          if (responseStatus !== status) text += chunk;
        },
        onResponseEnd() {
          if (responseStatus === status) resolve();
          else
            reject(
              new Error(`${method} ${path} returned ${responseStatus} instead of ${status}: ${text.slice(0, 300)}`),
            );
        },
        onResponseError(_controller, error) {
          reject(error);
        },
      },
    );
  });
}

/**
 * Loads a server with requests from this process over kept-alive connections, one at a time on each.
 *
 * @param createRequest creates the next request of a connection
 * @throws if a response has an unexpected status: a fast error is not a result
 */
export async function runLoad(
  url: string,
  createRequest: (connection: number) => LoadRequest,
  { connections, seconds }: { connections: number; seconds: number },
): Promise<Throughput> {
  const pool = new Pool(url, { connections, pipelining: 1 });
  const times: number[] = [];
  const begin = performance.now();
  const end = begin + seconds * 1000;
  const runConnection = async (connection: number) => {
    for (let before = performance.now(); before < end; ) {
      await sendRequest(pool, createRequest(connection));
      const now = performance.now();
      times.push(now - before);
      before = now;
    }
  };
  try {
    await Promise.all(Array.from({ length: connections }, (_, connection) => runConnection(connection)));
  } finally {
    await pool.destroy();
  }
  const elapsed = (performance.now() - begin) / 1000;
  const sorted = Float64Array.from(times).sort();
  return {
    requests: times.length,
    perSecond: times.length / elapsed,
    p50: percentile(sorted, 0.5),
    p99: percentile(sorted, 0.99),
  };
}

/** A load that runs until it is stopped. */
export interface OpenLoad {
  /** Sends no more requests, and resolves when the last response is read. `errors`: one text for each request that failed. */
  stop(): Promise<{ requests: number; errors: string[] }>;
}

/** Loads a server over kept-alive connections, one request at a time on each, and counts failed requests instead of throwing. */
export function openLoad(url: string, createRequest: (n: number) => LoadRequest, connections: number): OpenLoad {
  const pool = new Pool(url, { connections, pipelining: 1 });
  const errors: string[] = [];
  let requests = 0;
  let stopping = false;
  const runConnection = async () => {
    while (!stopping) await sendRequest(pool, createRequest(requests++)).catch((error) => errors.push(String(error)));
  };
  const running = Promise.all(Array.from({ length: connections }, runConnection));
  return {
    async stop() {
      stopping = true;
      await running;
      await pool.close();
      return { requests, errors };
    },
  };
}

/** Sends a number of requests over kept-alive connections. @throws if a response has an unexpected status */
export async function runRequests(
  url: string,
  requests: number,
  connections: number,
  createRequest: (n: number) => LoadRequest,
): Promise<void> {
  const pool = new Pool(url, { connections, pipelining: 1 });
  try {
    await Promise.all(Array.from({ length: requests }, (_, n) => sendRequest(pool, createRequest(n))));
  } finally {
    await pool.close();
  }
}
