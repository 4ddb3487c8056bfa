import { hash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import type Provider from 'oidc-provider';
import type { KoaContextWithOIDC } from 'oidc-provider';
import { loadJose } from '../provider/libraries.ts';
import type { OidcProviderOptions, ProviderSettings, SimulatedPerson } from '../provider/settings.ts';
import { createMemoryAdapter } from './memory-adapter.ts';
import { PAGE_HEADERS, renderChoicePage, renderErrorPage } from './page.ts';

// As in the server of an app: an import of node:http would load an HTTP client, in production too.
const { createServer } = process.getBuiltinModule('node:http');

const PEOPLE: readonly SimulatedPerson[] = [
  { name: 'Ada Lovelace', email: 'ada@example.com' },
  { name: 'Grace Hopper', email: 'grace@example.com' },
  { name: 'Alan Turing', email: 'alan@example.com', emailVerified: false },
];

/**
 * A provider for development and tests, at which you choose who to be. It is a real OpenID Connect server on a port of this machine, which
 * the `web` process starts. It needs the package `oidc-provider`, and production refuses it.
 *
 * @param options `people`: the people in the list on its page; `port`: default any free one; `name`: for sign-in pages
 * @example oidc({ providers: { simulated: simulatedProvider() } })
 */
export function simulatedProvider({
  name = 'Simulated provider',
  people = PEOPLE,
  port = 0,
}: {
  name?: string;
  people?: readonly SimulatedPerson[];
  port?: number;
} = {}): OidcProviderOptions {
  return {
    name,
    clientId: 'belfry',
    clientSecret: randomBytes(16).toString('hex'),
    // Otherwise the provider would remember the previous choice.
    authorizationParameters: { prompt: 'login' },
    simulated: { people, port },
  };
}

/** The server of a simulated provider. */
export interface SimulatedServer {
  /** Its issuer URL; undefined while it does not run. */
  issuer(): string | undefined;
  start(): Promise<void>;
  stop(): Promise<void>;
}

async function loadProvider(): Promise<typeof Provider> {
  try {
    return (await import('oidc-provider')).default;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    const text = 'simulatedProvider() needs the package oidc-provider. Run: npm install --save-dev oidc-provider';
    throw new Error(text, { cause: error });
  }
}

/** The id of a person. The same address is the same account, also after a restart. */
const accountIdOf = ({ email }: SimulatedPerson) => hash('sha256', email).slice(0, 24);

/** Gives the app access without asking. */
async function grantEverything({ oidc }: KoaContextWithOIDC) {
  const grant = new oidc.provider.Grant({
    clientId: oidc.client!.clientId,
    accountId: oidc.session!.accountId!,
  });
  grant.addOIDCScope('openid email profile');
  await grant.save();
  return grant;
}

async function createProvider(
  issuer: string,
  { clientId, clientSecret }: ProviderSettings,
  redirectUri: string,
  chosen: ReadonlyMap<string, SimulatedPerson>,
): Promise<Provider> {
  const { exportJWK, generateKeyPair } = loadJose();
  const { privateKey } = await generateKeyPair('RS256', { extractable: true });
  return new (await loadProvider())(issuer, {
    adapter: createMemoryAdapter,
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret as string,
        redirect_uris: [redirectUri],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), kid: 'simulated', use: 'sig', alg: 'RS256' }] },
    cookies: { keys: [randomBytes(32).toString('hex')] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_ctx, { uid }) => `/people/${uid}` },
    renderError(ctx, { error, error_description: description }) {
      ctx.set(PAGE_HEADERS);
      ctx.body = renderErrorPage(error, description);
    },
    ttl: { AccessToken: 3600, AuthorizationCode: 60, Grant: 3600, IdToken: 3600, Interaction: 3600, Session: 3600 },
    loadExistingGrant: grantEverything,
    findAccount: (_ctx, accountId) => {
      const person = chosen.get(accountId);
      if (person === undefined) return undefined;
      const { name, email, emailVerified = true } = person;
      return { accountId, claims: () => ({ sub: accountId, name, email, email_verified: emailVerified }) };
    },
  });
}

/** Returns the person in a submitted form; undefined if the developer cancels. */
function readPerson(form: URLSearchParams, people: readonly SimulatedPerson[]): SimulatedPerson | undefined {
  const choice = form.get('person');
  if (choice !== 'other') return choice === null ? undefined : people[Number(choice)];
  const email = (form.get('email') ?? '').trim();
  return { name: (form.get('name') ?? '').trim(), email, emailVerified: form.has('verified') };
}

/** Creates the server of a simulated provider. It listens on this machine only. */
export function createSimulatedServer(settings: ProviderSettings, redirectUri: string): SimulatedServer {
  const { people, port } = settings.simulated!;
  let running: { server: Server; issuer: string } | undefined;

  /** Shows the page of an interaction, and finishes the interaction when its form is sent. */
  async function handlePage(
    provider: Provider,
    chosen: Map<string, SimulatedPerson>,
    req: IncomingMessage,
    res: ServerResponse,
  ): Promise<void> {
    await provider.interactionDetails(req, res);
    if (req.method !== 'POST') {
      res.writeHead(200, PAGE_HEADERS).end(renderChoicePage(people));
      return;
    }
    const person = readPerson(new URLSearchParams(await text(req)), people);
    if (person === undefined) {
      const error = { error: 'access_denied', error_description: 'The user has cancelled the sign-in' };
      await provider.interactionFinished(req, res, error);
      return;
    }
    const accountId = accountIdOf(person);
    chosen.set(accountId, person);
    await provider.interactionFinished(req, res, { login: { accountId } });
  }

  return {
    issuer: () => running?.issuer,
    async start() {
      const server = createServer().listen(port, '127.0.0.1');
      await once(server, 'listening');
      const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const chosen = new Map<string, SimulatedPerson>();
      const provider = await createProvider(issuer, settings, redirectUri, chosen);
      const handleProtocol = provider.callback();
      server.on('request', (req, res) => {
        if (!req.url?.startsWith('/people/')) handleProtocol(req, res);
        else
          handlePage(provider, chosen, req, res).catch((error: Error) => {
            res.writeHead(400, { 'Content-Type': 'text/plain; charset=utf-8' }).end(error.message);
          });
      });
      running = { server, issuer };
    },
    async stop() {
      const server = running?.server;
      running = undefined;
      if (server === undefined) return;
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
