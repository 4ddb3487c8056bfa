import {
  type Accounts,
  ApiError,
  type AuthorizationRequest,
  type ExtensionHost,
  isId,
  type OrganisationAccess,
  type OrganisationMember,
  type Route,
  type RouteContext,
  validationError,
} from '../../extension/index.ts';
import { createOrganisationKeySchema, type NewOrganisationKeyInput } from './input.ts';
import { type ApiKeyRow, keyShape, newKeyShape, toKeyRecord, toRoleWord } from './record.ts';
import { KEY_NOTE } from './routes.ts';
import type { Scopes } from './scopes.ts';
import type { ApiKeySettings } from './settings.ts';
import { LIST_KEYS_OF_OWNER } from './sql.ts';
import type { KeyStore } from './store.ts';

/** What the routes depend on. The functions can be called once all features are set up. */
interface OrganisationKeyParts {
  keys: KeyStore;
  settings: ApiKeySettings;
  getScopes(): Scopes;
  getAccess(): OrganisationAccess;
}

type KeyContext<Input = unknown> = RouteContext<Input, OrganisationMember>;

/** @throws ApiError FORBIDDEN if the role does not manage the organisation */
function assertManages({ includes, manageRole }: OrganisationAccess, role: string): void {
  if (!includes(role, manageRole)) throw new ApiError('FORBIDDEN');
}

/**
 * Checks that a member may create a key that acts as a role: nobody gets more power by a key.
 *
 * @throws ApiError FORBIDDEN; VALIDATION_ERROR naming `as`
 */
function assertMayCreate(access: OrganisationAccess, own: string, role: string): void {
  assertManages(access, own);
  if (!access.includes(own, role))
    throw validationError({ as: `Your role does not allow you to create a key with this role: ${toRoleWord(role)}` });
}

/** The routes with which the managers of an organisation create, list and revoke its keys. They require a session. */
export function organisationKeyRoutes(
  { database }: Pick<ExtensionHost, 'database'>,
  accounts: Pick<Accounts, 'confirmNewCredential'>,
  { keys, settings, getScopes, getAccess }: OrganisationKeyParts,
): Route[] {
  const tags = ['api-keys', 'organisations'];
  const path = '/organisations/:id/api-keys';

  /** Loads the organisation of the path. @throws ApiError NOT_FOUND or FORBIDDEN */
  async function loadManaged({ auth, ...caller }: AuthorizationRequest): Promise<OrganisationMember> {
    if (auth !== undefined && auth.via !== 'session') throw new ApiError('FORBIDDEN', 'An API key cannot be used here');
    const member = await getAccess().find(caller, caller.params.id!);
    assertManages(getAccess(), member.role);
    return member;
  }

  async function createKey(ctx: KeyContext<NewOrganisationKeyInput>) {
    const access = getAccess();
    const { organisation, role: own } = ctx.doc;
    const word = ctx.input.as;
    const role = access.roles.find((one) => toRoleWord(one) === word) ?? access.roles.at(-1)!;
    assertMayCreate(access, own, role);
    await accounts.confirmNewCredential(ctx, ctx.input.code);
    const created = await keys.createForOrganisation(ctx, {
      organisation,
      role,
      // The caller may have been removed, or have lost the role, meanwhile.
      hold: async (tx) => assertMayCreate(access, await access.hold(ctx.user!, organisation, tx), role),
    });
    ctx.res.setHeader('Cache-Control', 'no-store');
    return { ...created, note: KEY_NOTE };
  }

  async function listKeys({ doc }: KeyContext) {
    const statement = { name: 'api_key_list', text: LIST_KEYS_OF_OWNER, values: [doc.organisation] };
    return (await database.read<ApiKeyRow>(statement)).map(toKeyRecord);
  }

  async function revokeKey({ params: { keyId }, doc, user }: KeyContext): Promise<void> {
    const by = { reason: 'user', by: user!.id } as const;
    if (!isId(keyId) || !(await keys.revoke(keyId, by, doc.organisation))) throw new ApiError('NOT_FOUND');
  }

  return [
    {
      method: 'POST',
      path,
      load: loadManaged,
      policy: settings.policy,
      recentSignIn: settings.recentSignIn,
      summary: 'Create an API key that belongs to an organisation; the key is only returned here',
      input: createOrganisationKeySchema(settings, getScopes, () => getAccess().roles),
      description:
        'The key acts as the organisation itself, in the role `as`, which can be at most your own. It does not end with the account that created it. A user with a second factor sends a code, or has confirmed the factor on the session within the last 10 minutes.',
      output: newKeyShape,
      errors: ['NOT_FOUND', 'FORBIDDEN', 'API_KEY_LIMIT', 'RATE_LIMITED', 'RECENT_SIGN_IN_REQUIRED'],
      status: 201,
      operationId: 'createOrganisationApiKey',
      tags,
      handler: createKey,
    },
    {
      method: 'GET',
      path,
      load: loadManaged,
      summary: 'List the active and expired API keys that belong to an organisation, newest first',
      output: keyShape.array(),
      errors: ['NOT_FOUND', 'FORBIDDEN'],
      operationId: 'listOrganisationApiKeys',
      tags,
      handler: listKeys,
    },
    {
      method: 'DELETE',
      path: `${path}/:keyId`,
      load: loadManaged,
      summary: 'Revoke an API key of an organisation; it stops working at once',
      errors: ['NOT_FOUND', 'FORBIDDEN'],
      status: 204,
      operationId: 'revokeOrganisationApiKey',
      tags,
      handler: revokeKey,
    },
  ];
}
