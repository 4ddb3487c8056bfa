import { createRequire } from 'node:module';
import type * as Jose from 'jose';
import type * as OpenidClient from 'openid-client';

const requirePackage = createRequire(import.meta.url);

// Together they take 19 MB, so only apps with providers load them.

/** Loads the client of OpenID Connect. */
export const loadOpenidClient = (): typeof OpenidClient => requirePackage('openid-client');

/** Loads the functions for signed tokens. */
export const loadJose = (): typeof Jose => requirePackage('jose');
