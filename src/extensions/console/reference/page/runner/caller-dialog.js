import { Dialog, html, Icon, openDialog, ReferencePicker, showError, showToast, userResource } from 'belfry/console';
import { useState } from 'preact/hooks';
import { caller, chooseCaller, signIn, simpleCallers, startSession, usePastedToken } from './caller.js';

const EXPLANATIONS = {
  visitor: 'Without a token, as a client that is not signed in.',
  console: 'With the session of this console. Requests have the rights of your own account.',
};

/** Runs an action that chooses a caller, and closes the dialog if it succeeds. */
function useChoice(close) {
  const [isBusy, setBusy] = useState(false);
  const choose = async (run) => {
    setBusy(true);
    try {
      await run();
      showToast(`Requests are sent as: ${caller().label}`);
      close();
    } catch (error) {
      showError(error);
    }
    setBusy(false);
  };
  return { isBusy, choose };
}

function UserSession({ isBusy, choose }) {
  const users = userResource();
  const [user, setUser] = useState();
  if (users === undefined) return null;
  return html`<section class="reference-choice">
    <h3><label for="reference-user">As a user</label></h3>
    <p class="soft">Starts a real session of the user, without a password or second factor. It ends when you choose another caller.</p>
    <div class="reference-row">
      <${ReferencePicker} id="reference-user" resource=${users.name} value=${user?.id} label=${user?.label} onChange=${(id, label) => setUser({ id, label })} />
      <button type="button" disabled=${isBusy || !user} onClick=${() => choose(() => startSession(user.id))}>Start session</button>
    </div>
  </section>`;
}

function PasswordSignIn({ isBusy, choose }) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const submit = (event) => {
    event.preventDefault();
    choose(() => signIn({ email, password }));
  };
  return html`<form class="reference-choice" onSubmit=${submit}>
    <h3>Sign in with a password</h3>
    <div class="reference-row">
      <label>E-mail address
        <input type="email" autocomplete="off" required value=${email} onInput=${(event) => setEmail(event.target.value)} />
      </label>
      <label>Password
        <input type="password" autocomplete="off" required value=${password} onInput=${(event) => setPassword(event.target.value)} />
      </label>
      <button disabled=${isBusy}>Sign in</button>
    </div>
  </form>`;
}

function PastedToken({ choose }) {
  const [token, setToken] = useState('');
  const submit = (event) => {
    event.preventDefault();
    choose(async () => usePastedToken(token));
  };
  return html`<form class="reference-choice" onSubmit=${submit}>
    <h3>Token or API key</h3>
    <div class="reference-row">
      <label>Token
        <input
          type="password"
          autocomplete="off"
          required
          pattern="[\\x21-\\x7e]+"
          title="Letters, digits and signs, without spaces"
          value=${token}
          onInput=${(event) => setToken(event.target.value)}
        />
      </label>
      <button>Use token</button>
    </div>
  </form>`;
}

function CallerDialog({ close, canStartSession }) {
  const choice = useChoice(close);
  const current = caller();
  return html`<${Dialog} title="Send requests as" onClose=${close} wide=${true}>
    <div class="stack">
      <div class="choices reference-callers">
        ${simpleCallers().map(
          (one) => html`<button
            key=${one.kind}
            type="button"
            aria-pressed=${one.kind === current.kind ? 'true' : 'false'}
            onClick=${() => choice.choose(async () => chooseCaller(one))}
          >
            <b>${one.label}</b><span class="soft">${EXPLANATIONS[one.kind]}</span>
          </button>`,
        )}
      </div>
      ${canStartSession && html`<${UserSession} ...${choice} />`}
      <${PasswordSignIn} ...${choice} />
      <${PastedToken} ...${choice} />
      <p class="soft">Tokens stay in this browser tab and are forgotten when it is closed.</p>
    </div>
  <//>`;
}

/** The caller of requests, with a dialog to choose another one. @param {{ canStartSession: boolean }} props */
export function CallerButton({ canStartSession }) {
  const { label, kind } = caller();
  const open = () =>
    openDialog(({ close }) => html`<${CallerDialog} close=${close} canStartSession=${canStartSession} />`);
  return html`<button type="button" class="reference-caller" onClick=${open} aria-label=${`Send as ${label}. Choose another caller`}>
    <${Icon} name=${kind === 'visitor' ? 'eye' : 'key'} /><span class="reference-caller-text">as <b>${label}</b></span>
  </button>`;
}
