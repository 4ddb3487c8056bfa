// Checked only by the compiler (`npm run check`): every part of an app and of an extension can be written in a file of its own, because its
// type is exported.
import type {
  Authenticator,
  ExtensionHost,
  OutboxConsumer,
  ResourceGateway,
  Sweep,
} from '../../src/extension/index.ts';
import {
  type AnyResource,
  ApiError,
  createApp,
  defineExtension,
  defineResource,
  defineUser,
  type ErrorCode,
  type Fields,
  f,
  type Hooks,
  type LegacyPassword,
  type Page,
  type PolicyFunction,
  type PushSender,
  type RecordOf,
  type ResourceOptions,
  type Route,
  type RouteBuilder,
  type ScopeArguments,
  type ScopeFilter,
  type SettingsInput,
} from '../../src/index.ts';
import type { CapturedMail, TestDevice, TestUser } from '../../src/testing/index.ts';

const fields = { title: f.string().required(), slug: f.string().optional(), author: f.ref('user').owner() };
type Post = RecordOf<typeof fields>;

const hooks: Hooks<typeof fields> = { beforeCreate: (values) => ({ ...values, slug: values.title.toLowerCase() }) };
const isEditor: PolicyFunction = ({ user }) => user?.roles?.includes('editor') ?? false;
const scope = ({ user }: ScopeArguments): ScopeFilter | undefined => (user ? undefined : { slug: 'public' });
const routes = (route: RouteBuilder<Post>): Route[] => [route.get('/:id/title', ({ doc }) => ({ title: doc.title }))];
const withDefaults = <F extends Fields>(options: ResourceOptions<F, true>): ResourceOptions<F, true> => ({
  defaultSort: '-createdAt',
  ...options,
});
export const post = defineResource(
  'post',
  withDefaults({ fields, hooks, scope, routes, policies: { update: isEditor } }),
);

const legacyPassword: LegacyPassword = (hash, password) => hash === password;
const settings: SettingsInput = { auth: { legacyPassword }, pagination: { maxLimit: 50 } };

const sweep: Sweep = { name: 'old reports', everyMs: 60_000, run: async () => 0 };
const consumer: OutboxConsumer = { wants: ({ resource }) => resource === 'post', handle: async () => undefined };
const createAuthenticator = ({ service }: ExtensionHost): Authenticator => ({
  recognizes: (token) => token.startsWith('demo_'),
  async authenticate(token) {
    const user = await service('user').first({ name: token });
    if (user === undefined) throw createError('UNAUTHORIZED');
    return { user, auth: { via: 'session', scopes: ['*'], id: user.id } };
  },
});
const createError = (code: ErrorCode) => new ApiError(code, undefined, { details: {} });
export const namesOf = (gateways: readonly ResourceGateway[]) => gateways.map(({ name }) => name);
const demo = defineExtension({
  name: 'demo',
  setup: (host) => ({ sweeps: [sweep], consumers: [consumer], authenticators: [createAuthenticator(host)] }),
});

const resources: readonly AnyResource[] = [defineUser(), post];
export const app = createApp({ resources, extensions: [demo], settings }, {});
export const greet = (push: PushSender, to: string) => push.send({ to, title: 'Hello' });
export const titlesOf = ({ data }: Page<Post>) => data.map(({ title }) => title);

export const linkIn = ({ text }: CapturedMail) => /https?:\S+/.exec(text)?.[0];
export const registerPhone = (user: TestUser, device: TestDevice) => user.addDevice(device);
