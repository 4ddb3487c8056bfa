import { useState } from 'preact/hooks';
import { toRequestError } from '../kit/request.ts';
import { CodeField } from './fields.tsx';
import { Form, type FormValues } from './form.tsx';
import { finishWithPasskey } from './passkeys.ts';
import type { CodeChallenge, PasskeyChallenge, SignInResponse } from './responses.ts';
import { continueSignIn, forgetChallenge, pagePath, readChallenge, request } from './session.ts';
import { texts } from './texts.ts';
import { BackToSignIn, Button, View, type ViewProps } from './view.tsx';

const { twoFactor: text } = texts;

type CodeMethod = CodeChallenge['methods'][number];

type TwoFactorView =
  | { kind: 'expired'; message: string }
  | { kind: 'passkey'; challenge: PasskeyChallenge }
  | { kind: 'code'; challenge: CodeChallenge; method: CodeMethod | undefined };

function expire(message: string): TwoFactorView {
  forgetChallenge();
  return { kind: 'expired', message };
}

function ExpiredView({ message }: { message: string }) {
  return (
    <View heading={text.expiredHeading}>
      <p>{message}</p>
      <p>
        <a href={pagePath('sign-in')}>{text.signIn}</a>
      </p>
    </View>
  );
}

function CodeView({ challenge, method, show }: ViewProps<TwoFactorView, 'code'>) {
  const { mfaToken, methods } = challenge;
  const isRecovery = method === 'recovery';
  const other = isRecovery ? 'totp' : 'recovery';

  async function send({ code }: FormValues) {
    try {
      continueSignIn(await request<SignInResponse>('POST', '/auth/2fa/verify', { mfaToken, method, code }));
    } catch (error) {
      // A 401 that does not name the code says that the sign-in itself is over.
      const { status, details, message } = toRequestError(error);
      if (status !== 401 || details.code !== undefined) throw error;
      show(expire(message));
    }
  }

  return (
    <View heading={isRecovery ? text.recoveryHeading : text.heading}>
      <p>{isRecovery ? text.recoveryIntro : text.intro}</p>
      <Form submit={text.submit} send={send}>
        {isRecovery ? (
          <CodeField label={texts.fields.recoveryCode} autocomplete="off" inputmode="text" />
        ) : (
          <CodeField />
        )}
      </Form>
      {methods.includes(other) && (
        <Button run={() => show({ kind: 'code', challenge, method: other })}>
          {isRecovery ? text.useApp : text.useRecovery}
        </Button>
      )}
      <BackToSignIn />
    </View>
  );
}

function PasskeyView({ challenge, show }: ViewProps<TwoFactorView, 'passkey'>) {
  async function usePasskey() {
    try {
      continueSignIn(await finishWithPasskey(challenge));
    } catch (error) {
      const { status, message } = toRequestError(error);
      if (status !== 401) throw error;
      // Each challenge can be answered once.
      show(expire(message));
    }
  }
  return (
    <View heading={text.passkeyHeading}>
      <p>{text.passkeyIntro}</p>
      <Button kind="primary" run={usePasskey}>
        {text.passkey}
      </Button>
      <BackToSignIn />
    </View>
  );
}

function openChallenge(): TwoFactorView {
  const challenge = readChallenge();
  if (challenge === undefined || Date.parse(challenge.expiresAt) < Date.now()) {
    return expire(text.expired);
  }
  if ('options' in challenge) return { kind: 'passkey', challenge };
  return { kind: 'code', challenge, method: challenge.methods[0] };
}

/** Finish a sign-in with a code, a recovery code or a passkey. */
export function Page() {
  const [view, show] = useState(openChallenge);
  if (view.kind === 'expired') return <ExpiredView message={view.message} />;
  if (view.kind === 'passkey') return <PasskeyView {...view} show={show} />;
  return <CodeView key={view.method} {...view} show={show} />;
}
