import { request } from 'undici';
import { createHeaders, type LoadRequest } from '../measure/load.ts';

/** A response that is read completely. */
export interface Answer {
  status: number;
  /** undefined if the body is empty. */
  json: unknown;
  cookies: string[];
}

/** Sends one request, whatever its status is. */
export async function send(url: string, load: Omit<LoadRequest, 'status'>): Promise<Answer> {
  const { method, path, body } = load;
  const headers = createHeaders({ ...load, status: 0 });
  const response = await request(url + path, { method, headers, body: body ?? null });
  const text = await response.body.text();
  const cookies = [response.headers['set-cookie'] ?? []].flat().map((cookie) => cookie.split(';')[0]!);
  return { status: response.statusCode, json: text === '' ? undefined : JSON.parse(text), cookies };
}

/** Sends one request. @throws if it has another status than expected */
export async function sendExpecting(url: string, load: LoadRequest): Promise<Answer> {
  const answer = await send(url, load);
  if (answer.status !== load.status)
    throw new Error(
      `${load.method} ${load.path} returned ${answer.status} instead of ${load.status}: ${JSON.stringify(answer.json)?.slice(0, 300)}`,
    );
  return answer;
}

/** Sends a POST with a JSON body. @throws if it has another status than expected */
export async function post<T>(
  url: string,
  path: string,
  value: object,
  { status, headers = {} }: { status: number; headers?: Record<string, string> },
): Promise<T> {
  const body = JSON.stringify(value);
  return (await sendExpecting(url, { method: 'POST', path, body, headers, status })).json as T;
}
