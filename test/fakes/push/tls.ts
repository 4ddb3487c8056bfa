import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const path = (name: string) => fileURLToPath(new URL(`../../data/tls/${name}`, import.meta.url));

/** The certificate authority of the fakes. */
export const CA_FILE = path('push-ca.crt');
export const ca = readFileSync(CA_FILE, 'utf8');

/** The certificate of the fakes, for the hosts of all three providers. */
export const identity = { key: readFileSync(path('push.key')), cert: readFileSync(path('push.crt')) };
