/** A reason for which a Redis cannot be used, as the rest of a sentence: `is a read-only replica: …`. */
export class RedisProblem extends Error {
  override readonly name = 'RedisProblem';
}

/** Returns the rule of the access control list that a Redis user of Belfry needs. */
export function aclRuleOf(prefix: string): string {
  return `~${prefix}:* &${prefix}:* +@all -@dangerous +info +cluster|slots +cluster|info`;
}

type Describe = (text: string, prefix: string) => string;

// What each kind of error reply means and how to fix it, in the order in which they are looked for. Redis 6 puts the kind of an error in
// a script behind the name of the script.
const PROBLEMS: readonly (readonly [kind: RegExp, describe: Describe])[] = [
  [
    /sentinel .*\b(WRONGPASS|NOAUTH|invalid password)\b/,
    () => 'cannot be reached: the Sentinels need a password, or refuse it: check REDIS_SENTINEL_PASSWORD',
  ],
  [
    /\bREADONLY\b/,
    () =>
      'is a read-only replica: REDIS_URL must name the primary server; for an automatic failover, set REDIS_SENTINELS',
  ],
  [/\bOOM\b/, () => 'is full: raise its maxmemory, or use a larger server'],
  [
    /\bNOPERM\b|can't (run this command|access)/,
    (text, prefix) =>
      `refuses the user of REDIS_URL: the user lacks a permission (${text}). ACL rule that Belfry needs: ${aclRuleOf(prefix)}`,
  ],
  [/\bNOAUTH\b/, () => 'needs a password: put it into REDIS_URL, redis://:password@host:6379'],
  [/\bWRONGPASS\b|invalid password/, () => 'refuses the user name or password of REDIS_URL'],
  [/\bLOADING\b/, () => 'is still loading its data from disk'],
  [/\bMISCONF\b/, () => 'refuses writes, because it cannot save its data to disk: see its log'],
  [/\bNOREPLICAS\b/, () => 'refuses writes, because it has too few replicas (min-replicas-to-write)'],
  [/\b(MASTERDOWN|CLUSTERDOWN)\b/, (text) => `is not complete: ${text}`],
  [/No such master|sentinel .*invalid reply: null/, () => 'is unknown to the Sentinels: check REDIS_SENTINEL_MASTER'],
  [/cluster support disabled/, () => 'is not a Redis Cluster: remove REDIS_CLUSTER=on'],
  [
    /unable to (verify|get)|self-signed certificate|UNABLE_TO_VERIFY|certificate/i,
    (text) => `cannot be trusted: ${text}. If a private authority issued its certificate, set REDIS_CA`,
  ],
];

// Of the client, about itself: Redis is connected but silent, or the client is not connected.
const NO_RESPONSE =
  /^Socket timeout|^Command timed out|^connect ETIMEDOUT|^Connection is closed|enableOfflineQueue|maxRetriesPerRequest|^no response within|^is not connected$/;

function findProblem(error: unknown) {
  const { message = String(error), code = '' } = error as NodeJS.ErrnoException;
  const text = message || code;
  return { text, describe: PROBLEMS.find(([kind]) => kind.test(text))?.[1] };
}

/** Describes why Redis is not usable, as the rest of a sentence that begins with the address of Redis. */
export function describeRedisProblem(error: unknown, prefix: string): string {
  if (error instanceof RedisProblem) return error.message;
  const { text, describe } = findProblem(error);
  if (describe !== undefined) return describe(text, prefix);
  return NO_RESPONSE.test(text) ? 'does not respond' : `cannot be reached: ${text.replace(/\.+$/, '')}`;
}

/** Returns what to do if Redis is not usable; undefined if the description of the problem says that. */
export function suggestRedisFix(error: unknown): string | undefined {
  const isDescribed = error instanceof RedisProblem || findProblem(error).describe !== undefined;
  return isDescribed ? undefined : 'check REDIS_URL, and that Redis runs';
}

/**
 * Says in full sentences why Redis is not usable, and what to do.
 *
 * @param address of Redis, for the message
 */
export function explainRedisProblem(error: unknown, address: string, prefix: string): string {
  const fix = suggestRedisFix(error);
  const description = describeRedisProblem(error, prefix);
  if (fix === undefined) return `Redis at ${address} ${description}.`;
  return `Redis ${description} (${address}). ${fix.charAt(0).toUpperCase()}${fix.slice(1)}.`;
}

const ERRORS_OF_CODE = [TypeError, RangeError, ReferenceError, SyntaxError];

/** Whether an error of a function that uses Redis can be one of Redis, or of the connection to it, and not one of the code. */
export function isRedisError(error: unknown): error is Error {
  return error instanceof Error && !ERRORS_OF_CODE.some((kind) => error instanceof kind);
}
