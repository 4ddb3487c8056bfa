import type { RefObject } from 'preact';
import { useContext, useRef } from 'preact/hooks';
import { toRequestError } from '../kit/request.ts';
import { EmailField, PasswordField } from './fields.tsx';
import { Form } from './form.tsx';
import { listProviders, startSignIn } from './oidc.ts';
import { PasskeyError, signInWithPasskey, supportsPasskeys } from './passkeys.ts';
import { ProviderIcon } from './provider-icon.tsx';
import type { Provider, SignInResponse } from './responses.ts';
import { continueSignIn, knownEmail, offers, pagePath, rememberEmail, request } from './session.ts';
import { useLoaded } from './start.ts';
import { texts } from './texts.ts';
import { Button, ProblemArea, ProblemContext, View } from './view.tsx';

const { signIn: text } = texts;

/** The offer of passkeys in the e-mail field, which must end before another request for a passkey starts. */
let offer: AbortController | undefined;

/** Lets the browser offer passkeys in a field, once the user enters it: each offer costs a request that is limited. */
async function offerPasskeys(showProblem: (text: string) => void): Promise<void> {
  if (offer !== undefined || !(await PublicKeyCredential.isConditionalMediationAvailable?.())) return;
  offer = new AbortController();
  try {
    continueSignIn(await signInWithPasskey({ mediation: 'conditional', signal: offer.signal }));
  } catch (error) {
    if (error instanceof PasskeyError && error.isAborted) return;
    offer = undefined;
    // The user has not asked for anything, so only a refusal of the server is reported.
    const { status, message } = toRequestError(error);
    if (status !== undefined) showProblem(message);
  }
}

async function usePasskey() {
  offer?.abort();
  continueSignIn(await signInWithPasskey());
}

/** The ways to sign in without a password. */
function OtherWays({
  hasPasskeys,
  providers,
  onEmail,
}: {
  hasPasskeys: boolean;
  providers: readonly Provider[];
  onEmail: () => void;
}) {
  if (!hasPasskeys && !offers('emailSignIn') && providers.length === 0) return null;
  return (
    <>
      <p class="divider">{texts.or}</p>
      <section class="ways">
        <ProblemArea>
          {hasPasskeys && <Button run={usePasskey}>{text.passkey}</Button>}
          {offers('emailSignIn') && <Button run={onEmail}>{text.email}</Button>}
          {providers.map(({ provider, name, icon }) => (
            <Button key={provider} run={() => startSignIn(provider)}>
              <ProviderIcon name={name} icon={icon} />
              {text.provider(name)}
            </Button>
          ))}
        </ProblemArea>
      </section>
    </>
  );
}

function SignInFields({ hasPasskeys, email }: { hasPasskeys: boolean; email: RefObject<HTMLInputElement | null> }) {
  const showProblem = useContext(ProblemContext);
  return (
    <>
      <EmailField
        controlRef={email}
        autocomplete={hasPasskeys ? 'username webauthn' : 'username'}
        value={knownEmail()}
        onFocus={hasPasskeys ? () => offerPasskeys(showProblem) : undefined}
      />
      <PasswordField />
    </>
  );
}

const loadProviders = async () => (offers('providers') ? await listProviders().catch(() => []) : []);

/** Sign in by password, passkey or provider, or go on to the sign-in by e-mail. */
export function Page() {
  const providers = useLoaded<Provider[]>(loadProviders);
  const email = useRef<HTMLInputElement>(null);
  if (providers === undefined) return null;
  const hasPasskeys = offers('passkeys') && supportsPasskeys();
  return (
    <View heading={text.heading}>
      <Form
        submit={text.submit}
        send={async (values) => continueSignIn(await request<SignInResponse>('POST', '/auth/login', values))}
      >
        <SignInFields hasPasskeys={hasPasskeys} email={email} />
      </Form>
      {offers('reset') && (
        <p>
          <a href={pagePath('forgot')}>{text.forgot}</a>
        </p>
      )}
      <OtherWays
        hasPasskeys={hasPasskeys}
        providers={providers}
        onEmail={() => {
          rememberEmail(email.current?.value.trim() ?? '');
          location.assign(pagePath('email'));
        }}
      />
      {offers('register') && (
        <p class="footer">
          {text.noAccount} <a href={pagePath('register')}>{text.register}</a>
        </p>
      )}
    </View>
  );
}
