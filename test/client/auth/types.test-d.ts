// Checked only by the compiler: the user of a session is that of the app's user resource, and a sign-in is a discriminated union.
import type { createClient, Session, SignInResult } from '../../../packages/client/src/index.ts';
import { createApp, defineUser, f } from '../../../src/index.ts';

const app = createApp({ resources: [defineUser({ fields: { plan: f.enum(['free', 'paid']).required() } })] }, {});
declare const client: ReturnType<typeof createClient<typeof app>>;
declare const looseClient: ReturnType<typeof createClient>;
const { auth } = client;

auth.session?.user.id satisfies string | undefined;
auth.session?.user.plan satisfies 'free' | 'paid' | undefined;
// @ts-expect-error: the user resource has no such field
auth.session?.user.plann;
auth.session?.token satisfies string | undefined;
// @ts-expect-error: a session is not changed by assignment
if (auth.session) auth.session.token = 'svc_';
auth.subscribe((session) => session?.user.plan satisfies 'free' | 'paid' | undefined);

auth.register({ name: 'Ada', email: 'ada@example.com', password: 'a bell rings at noon', plan: 'free' });
// @ts-expect-error: a required field is missing
auth.register({ name: 'Ada', email: 'ada@example.com', password: 'a bell rings at noon' });
auth.updateUser({ plan: 'paid' });
// @ts-expect-error: not one of the values
auth.updateUser({ plan: 'expensive' });

const result = await auth.signIn({ email: 'ada@example.com', password: 'a bell rings at noon' });
if (result.status === 'signedIn') result.user.plan satisfies 'free' | 'paid' | undefined;
// @ts-expect-error: the user is known only after the sign-in
result.user;
if (result.status === 'secondFactor') {
  const [method] = result.methods;
  method satisfies 'totp' | 'recovery' | 'passkey' | undefined;
  (await result.verify('123456', { method: 'totp' })) satisfies SignInResult;
  auth.resumeSignIn(result.challenge);
}
if (result.status === 'emailVerification') await result.verify({ code: '123456' });
// @ts-expect-error: a proof is a token or a code
auth.email.verify({});
const verified = await auth.email.verify({ token: 'token' });
if (verified.status === 'verified') verified.emailVerifiedAt satisfies string;
const returned = await auth.oidc.complete();
if (returned.status === 'linked') returned.provider satisfies string;
(await auth.passkeys.signIn({ autofill: true })) satisfies SignInResult;
auth.confirm({ passkey: true });
// @ts-expect-error: a confirmation needs a proof
auth.confirm({});

looseClient.auth.session satisfies Session | undefined;
looseClient.auth.session?.user.anything satisfies unknown;
looseClient.auth.register({ anything: 1 });
