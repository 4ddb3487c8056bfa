import { type DevicePlatform, readSubscription } from '../accounts/devices/index.ts';

/** No provider gives out shorter ones; a letter that is one would blot out whole sentences. */
const SHORTEST_SECRET = 8;

/** What is never told of a device: its token; of a browser also the part of the endpoint that is secret, and the key. */
function secretsOf({ platform, token }: { platform: DevicePlatform; token: string }): string[] {
  const subscription = platform === 'web' ? readSubscription(token) : undefined;
  if (subscription === undefined) return [token];
  const { endpoint, keys } = subscription;
  return [token, endpoint.slice(endpoint.lastIndexOf('/') + 1), keys.auth];
}

/** A text of a transport or its provider without the tokens of these devices: it may repeat what it was sent. */
export function withoutTokens(text: string, devices: readonly { platform: DevicePlatform; token: string }[]): string {
  const secrets = devices.flatMap(secretsOf).filter((secret) => secret.length >= SHORTEST_SECRET);
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '…'), text);
}

/** Causes of causes that are told; one may be its own. */
const DEEPEST_CAUSE = 4;

/** Anything can be thrown, also what cannot be made a text. */
function textOf(thrown: unknown): string {
  try {
    return String(thrown);
  } catch {
    return 'something that is no error';
  }
}

/** What was thrown as an error that can be logged: message, stack and causes, and nothing else that hangs on it. */
export function errorWithoutTokens(
  thrown: unknown,
  devices: readonly { platform: DevicePlatform; token: string }[],
  depth = 0,
): Error {
  const told = (text: unknown) => withoutTokens(textOf(text), devices);
  if (!(thrown instanceof Error)) return new Error(told(thrown));
  const error = new Error(told(thrown.message));
  error.stack = told(thrown.stack);
  if (thrown.cause !== undefined && depth < DEEPEST_CAUSE) {
    error.cause = errorWithoutTokens(thrown.cause, devices, depth + 1);
  }
  return error;
}
