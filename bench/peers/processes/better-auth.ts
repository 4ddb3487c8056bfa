// better-auth in its own process, with accounts by e-mail address and password.
import type { RequestListener } from 'node:http';
import { reportReady, startHttpServer } from '../../processes/child.ts';
import { importPackage } from '../packages.ts';

interface BetterAuth {
  options: object;
}

const { default: pg } = await importPackage<{ default: { Pool: new (options: object) => object } }>(
  'better-auth',
  'pg',
);
const { betterAuth } = await importPackage<{ betterAuth(options: object): BetterAuth }>('better-auth', 'better-auth');
const { toNodeHandler } = await importPackage<{ toNodeHandler(auth: BetterAuth): RequestListener }>(
  'better-auth',
  'better-auth/node',
);
const { getMigrations } = await importPackage<{
  getMigrations(options: object): Promise<{ runMigrations(): Promise<void> }>;
}>('better-auth', 'better-auth/db/migration');

let handler: RequestListener = (_request, response) => void response.writeHead(503).end();
const url = await startHttpServer((request, response) => handler(request, response));
const auth = betterAuth({
  database: new pg.Pool({ connectionString: process.env.DATABASE_URL }),
  baseURL: url,
  secret: 'a secret of the bench that is long enough',
  emailAndPassword: { enabled: true },
  // A load from one address would reach the limit. Belfry's is off as well.
  rateLimit: { enabled: false },
  telemetry: { enabled: false },
});
await (await getMigrations(auth.options)).runMigrations();
handler = toNodeHandler(auth);
reportReady(url);
