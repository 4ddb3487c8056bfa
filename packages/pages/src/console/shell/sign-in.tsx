import type { ComponentChildren, TargetedEvent } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Dialog, openDialog } from '../../kit/dialog.tsx';
import { toRequestError } from '../../kit/request.ts';
import { callApp, forgetToken, readToken, storeToken } from '../api.ts';
import { brand } from '../brand.ts';
import { texts } from '../texts.ts';

const SIGN_IN_PAGE = '/auth/sign-in';
const RECOVERY_CODE = /[a-z-]/i;

/** Whether the app has sign-in pages. Without a session, the server says nothing else about the app. */
async function hasSignInPages() {
  const response = await fetch(SIGN_IN_PAGE, { method: 'HEAD', cache: 'no-store' }).catch(() => undefined);
  return response?.ok === true && (response.headers.get('Content-Type') ?? '').startsWith('text/html');
}

/** A form whose submit shows its error and waits for the server. `onSubmit` gets the values by the names of the inputs. */
function Form({
  onSubmit,
  submit,
  children,
}: {
  onSubmit: (values: Readonly<Record<string, string>>) => Promise<unknown>;
  submit: string;
  children: ComponentChildren;
}) {
  const [error, setError] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const handle = async (event: TargetedEvent<HTMLFormElement>) => {
    event.preventDefault();
    const values = Object.fromEntries(
      [...new FormData(event.currentTarget)].map(([name, value]) => [name, String(value)]),
    );
    setBusy(true);
    setError(undefined);
    try {
      await onSubmit(values);
    } catch (failure) {
      const { message, details } = toRequestError(failure);
      setError([message, ...Object.values(details)].join(' '));
    }
    setBusy(false);
  };
  return (
    <form class="stack" onSubmit={handle}>
      {children}
      <p class="form-error" role="alert" hidden={error === undefined}>
        {error}
      </p>
      <button type="submit" class="primary" disabled={isBusy}>
        {submit}
      </button>
    </form>
  );
}

const PasswordField = () => (
  <label>
    {texts.shell.signIn.password}
    <input name="password" type="password" autocomplete="current-password" required />
  </label>
);

const CodeField = () => (
  <label>
    {texts.shell.signIn.code}
    <input name="code" autocomplete="one-time-code" required spellcheck={false} />
  </label>
);

/** The response to a sign-in: the session, or what is still missing. */
type SignInResult = { mfaRequired: true; mfaToken: string } | { mfaRequired?: false; token?: string };

/** The form of an app without sign-in pages: password, then the second factor if the account has one. */
function PasswordSignIn({ onDone }: { onDone: () => void }) {
  const [mfaToken, setMfaToken] = useState<string>();
  const finish = (data: SignInResult) => {
    if (data.mfaRequired) setMfaToken(data.mfaToken);
    else if (typeof data.token !== 'string') throw new Error(texts.shell.signIn.verifyFirst);
    else {
      storeToken(data.token);
      onDone();
    }
  };
  if (mfaToken !== undefined) {
    const verify = async ({ code = '' }: Readonly<Record<string, string>>) => {
      const method = RECOVERY_CODE.test(code) ? 'recovery' : 'totp';
      const body = { mfaToken, method, code: code.trim() };
      finish(await callApp<SignInResult>('/auth/2fa/verify', { method: 'POST', body }));
    };
    return (
      <Form key="code" submit={texts.shell.signIn.confirm} onSubmit={verify}>
        <CodeField />
      </Form>
    );
  }
  const signIn = async (body: Readonly<Record<string, string>>) =>
    finish(await callApp<SignInResult>('/auth/login', { method: 'POST', body }));
  return (
    <Form key="password" submit={texts.shell.signIn.submit} onSubmit={signIn}>
      <label>
        {texts.shell.signIn.email} <input name="email" type="email" autocomplete="username" required />
      </label>
      <PasswordField />
    </Form>
  );
}

/** What the console shows without a session, or to a user without access. */
export function SignIn({ kind, onDone }: { kind: 'signedOut' | 'forbidden'; onDone: () => void }) {
  const [pages, setPages] = useState<boolean>();
  useEffect(() => {
    hasSignInPages().then(setPages);
  }, []);
  const signOut = () => {
    forgetToken();
    onDone();
  };
  const next = encodeURIComponent(location.pathname + location.search);
  return (
    <main class="gate" id="main">
      <img src={brand.logo} alt="" height={36} />
      {kind === 'forbidden' ? (
        <>
          <h1 tabindex={-1}>{texts.shell.signIn.forbidden}</h1>
          <p>{texts.shell.signIn.forbiddenHint}</p>
          {readToken() !== undefined && (
            <button type="button" class="primary" onClick={signOut}>
              {texts.shell.signIn.useAnother}
            </button>
          )}
        </>
      ) : (
        <>
          <h1 tabindex={-1}>{texts.shell.signIn.heading}</h1>
          {pages === true && (
            <>
              <p>{texts.shell.signIn.hint}</p>
              <a class="button primary" href={`${SIGN_IN_PAGE}?next=${next}`}>
                {texts.shell.signIn.submit}
              </a>
            </>
          )}
          {pages === false && <PasswordSignIn onDone={onDone} />}
        </>
      )}
    </main>
  );
}

/** Asks for the password, because an action needs a recent sign-in. @returns whether the user has confirmed */
export async function confirmIdentity(): Promise<boolean> {
  const factors = await callApp<{ enabled: boolean }>('/auth/2fa').catch(() => undefined);
  return openDialog<boolean>(({ close }) => {
    const confirm = async ({ password, code }: Readonly<Record<string, string>>) => {
      const body = { password, ...(code ? { code: code.trim() } : {}) };
      await callApp('/auth/reauthenticate', { method: 'POST', body });
      close(true);
    };
    return (
      <Dialog title={texts.shell.signIn.confirmHeading} onClose={() => close(false)}>
        <p>{texts.shell.signIn.confirmHint}</p>
        <Form submit={texts.shell.signIn.continue} onSubmit={confirm}>
          <PasswordField />
          {factors?.enabled && <CodeField />}
        </Form>
        <p class="soft">
          {texts.shell.signIn.noPassword}{' '}
          <a href={`${SIGN_IN_PAGE}?next=${encodeURIComponent(location.pathname)}`}>{texts.shell.signIn.again}</a>.
        </p>
      </Dialog>
    );
  });
}
