import { html } from 'htm/preact';
import { useEffect, useState } from 'preact/hooks';
import { callApp, forgetToken, readToken, storeToken } from '../api.js';
import { Dialog, openDialog } from '../components/feedback.js';

const SIGN_IN_PAGE = '/auth/sign-in';
const RECOVERY_CODE = /[a-z-]/i;

/** Whether the app has sign-in pages. Without a session, the server says nothing else about the app. */
async function hasSignInPages() {
  const response = await fetch(SIGN_IN_PAGE, { method: 'HEAD', cache: 'no-store' }).catch(() => undefined);
  return response?.ok === true && (response.headers.get('Content-Type') ?? '').startsWith('text/html');
}

/** A form whose submit shows its error and waits for the server. `onSubmit` gets the values by the names of the inputs. */
function Form({ onSubmit, submit, children }) {
  const [error, setError] = useState(undefined);
  const [isBusy, setBusy] = useState(false);
  const handle = async (event) => {
    event.preventDefault();
    setBusy(true);
    setError(undefined);
    try {
      await onSubmit(Object.fromEntries(new FormData(event.target)));
    } catch (failure) {
      setError([failure.message, ...Object.values(failure.details ?? {})].join(' '));
    }
    setBusy(false);
  };
  return html`<form class="stack" onSubmit=${handle}>
    ${children}
    <p class="form-error" role="alert" hidden=${error === undefined}>${error}</p>
    <button type="submit" class="primary" disabled=${isBusy}>${submit}</button>
  </form>`;
}

const PasswordField = () => html`<label>
  Password
  <input name="password" type="password" autocomplete="current-password" required />
</label>`;

const CodeField = () => html`<label>
  Code of your authenticator app, or a recovery code
  <input name="code" autocomplete="one-time-code" required spellcheck="false" />
</label>`;

/** The form of an app without sign-in pages: password, then the second factor if the account has one. */
function PasswordSignIn({ onDone }) {
  const [challenge, setChallenge] = useState(undefined);
  const finish = (data) => {
    if (data.mfaRequired) setChallenge(data);
    else if (typeof data.token !== 'string') throw new Error('Verify your e-mail address first, then sign in again.');
    else {
      storeToken(data.token);
      onDone();
    }
  };
  if (challenge !== undefined) {
    const verify = async ({ code }) => {
      const method = RECOVERY_CODE.test(code) ? 'recovery' : 'totp';
      const body = { mfaToken: challenge.mfaToken, method, code: code.trim() };
      finish(await callApp('/auth/2fa/verify', { method: 'POST', body }));
    };
    return html`<${Form} key="code" submit="Confirm" onSubmit=${verify}><${CodeField} /><//>`;
  }
  const signIn = async (body) => finish(await callApp('/auth/login', { method: 'POST', body }));
  return html`<${Form} key="password" submit="Sign in" onSubmit=${signIn}>
    <label>E-mail address <input name="email" type="email" autocomplete="username" required /></label>
    <${PasswordField} />
  <//>`;
}

/** What the console shows without a session, or to a user without access. */
export function SignIn({ kind, onDone }) {
  const [pages, setPages] = useState(undefined);
  useEffect(() => {
    hasSignInPages().then(setPages);
  }, []);
  const signOut = () => {
    forgetToken();
    onDone();
  };
  const next = encodeURIComponent(location.pathname + location.search);
  return html`<main class="gate" id="main">
    <img src="/console/assets/icon.svg" alt="" width="36" height="36" />
    ${
      kind === 'forbidden'
        ? html`<h1 tabindex="-1">You may not use the console</h1>
            <p>Your account does not meet the policy of the console. Sign in with another account.</p>
            ${
              readToken() !== undefined &&
              html`<button type="button" class="primary" onClick=${signOut}>Use another account</button>`
            }`
        : html`<h1 tabindex="-1">Sign in to the console</h1>
            ${
              pages === true &&
              html`<p>You need an account that may use the console.</p>
                <a class="button primary" href=${`${SIGN_IN_PAGE}?next=${next}`}>Sign in</a>`
            }
            ${pages === false && html`<${PasswordSignIn} onDone=${onDone} />`}`
    }
  </main>`;
}

/** Asks for the password, because an action needs a recent sign-in. @returns {Promise<boolean>} whether the user has confirmed */
export async function confirmIdentity() {
  const factors = await callApp('/auth/2fa').catch(() => undefined);
  return openDialog(({ close }) => {
    const confirm = async ({ password, code }) => {
      const body = { password, ...(code ? { code: code.trim() } : {}) };
      await callApp('/auth/reauthenticate', { method: 'POST', body });
      close(true);
    };
    return html`<${Dialog} title="Confirm that it is you" onClose=${() => close(false)}>
      <p>The console needs a recent sign-in. Enter your password to continue.</p>
      <${Form} submit="Continue" onSubmit=${confirm}>
        <${PasswordField} />
        ${factors?.enabled && html`<${CodeField} />`}
      <//>
      <p class="soft">
        No password? <a href=${`${SIGN_IN_PAGE}?next=${encodeURIComponent(location.pathname)}`}>Sign in again</a>.
      </p>
    <//>`;
  });
}
