import { z } from 'zod';
import type { Accounts, SignInMethod } from '../../declare/accounts.ts';
import type { Host } from '../../declare/host.ts';
import type { Route } from '../../declare/route.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import { isPasswordHash } from '../passwords/password-hash.ts';
import type { Users } from '../users/users.ts';
import type { Identities } from './store.ts';

const identityShape = z
  .object({
    id: z.string(),
    provider: z.string().meta({ examples: ['google'] }),
    email: z.string().nullable().meta({ description: 'Your address at the provider when you last signed in there' }),
    createdAt: z.iso.datetime(),
    lastUsedAt: z.iso.datetime(),
  })
  .meta({ id: 'Identity' });

const methodsShape = z
  .array(z.string())
  .meta({ description: '`password`, identities as `oidc:<provider>`, and the methods of extensions' });

/** The routes with which users see and remove their ways to sign in. */
export function identityRoutes({
  host,
  users,
  identities,
  accounts,
  methods,
}: {
  host: Host;
  users: Users;
  identities: Identities;
  accounts: Pick<Accounts, 'lockUser' | 'assertCanStillSignIn'>;
  methods: () => readonly SignInMethod[];
}): Route[] {
  const tags = ['auth'];

  async function listSignInMethods(userId: string): Promise<string[]> {
    const [account, own] = await Promise.all([users.findAccountById(userId), identities.list(userId)]);
    if (account === undefined) return [];
    const usable: string[] = isPasswordHash(account.passwordHash) ? ['password'] : [];
    usable.push(...new Set(own.map(({ provider }) => `oidc:${provider}`)));
    for (const method of methods()) if (await method.isUsableBy(account.user, host.database)) usable.push(method.name);
    return usable;
  }

  async function removeIdentity(id: string, userId: string, ip: string): Promise<void> {
    await host.transaction(async (tx) => {
      await accounts.lockUser(userId, tx.database);
      const provider = isId(id) ? await identities.remove(id, userId, tx.database) : undefined;
      if (provider === undefined) throw new ApiError('NOT_FOUND');
      await accounts.assertCanStillSignIn(userId, tx.database);
      tx.afterCommit(() => host.events.emit('security.identity_removed', { userId, provider, ip }));
    });
  }

  return [
    {
      method: 'GET',
      path: '/auth/sign-in-methods',
      output: methodsShape,
      errors: [],
      operationId: 'listMySignInMethods',
      tags,
      summary: 'List the ways in which you can sign in',
      handler: (ctx) => listSignInMethods(ctx.user!.id),
    },
    {
      method: 'GET',
      path: '/auth/identities',
      output: z.array(identityShape),
      errors: [],
      operationId: 'listMyIdentities',
      tags,
      summary: 'List your accounts at identity providers, oldest first',
      handler: (ctx) => identities.list(ctx.user!.id),
    },
    {
      method: 'DELETE',
      path: '/auth/identities/:identityId',
      recentSignIn: true,
      errors: ['NOT_FOUND', 'CONFLICT'],
      status: 204,
      operationId: 'removeMyIdentity',
      tags,
      summary: 'Stop signing in with an account at an identity provider',
      description: 'The last way to sign in cannot be removed.',
      handler: (ctx) => removeIdentity(ctx.params.identityId!, ctx.user!.id, addressOf(ctx.req)),
    },
  ];
}
