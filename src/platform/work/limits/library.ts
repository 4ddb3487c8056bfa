import { createRequire } from 'node:module';
import type * as Library from 'rate-limiter-flexible';

const requirePart = createRequire(import.meta.url);

// The package's index loads the limiters of all stores, which takes 1 MB of memory and 40 ms of each start.

/** The library's limiter that counts in Redis. */
export const RateLimiterRedis: typeof Library.RateLimiterRedis = requirePart(
  'rate-limiter-flexible/lib/RateLimiterRedis.js',
);

/** The library's limiter that counts in the memory of this process. */
export const RateLimiterMemory: typeof Library.RateLimiterMemory = requirePart(
  'rate-limiter-flexible/lib/RateLimiterMemory.js',
);

/** The library's answer about one request. */
export const RateLimiterRes: typeof Library.RateLimiterRes = requirePart('rate-limiter-flexible/lib/RateLimiterRes.js');
