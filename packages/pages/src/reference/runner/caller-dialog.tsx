import { useState } from 'preact/hooks';
import { Dialog, openDialog } from '../../kit/dialog.tsx';
import { Icon } from '../../kit/icons.tsx';
import { richText } from '../../kit/rich-text.ts';
import { showError, showToast } from '../../kit/toasts.tsx';
import type { Reference } from '../reference.ts';
import { texts } from '../texts.ts';
import { type Callers, type ChoiceProps, pastedToken, signIn } from './caller.ts';

/** What the choices get, to choose a caller and close the dialog. */
function useChoice(callers: Callers, close: () => void): ChoiceProps {
  const [isBusy, setBusy] = useState(false);
  const choose: ChoiceProps['choose'] = async (run) => {
    setBusy(true);
    try {
      await run();
      showToast(texts.callers.chosen(callers.current.value.label));
      close();
    } catch (error) {
      showError(error);
    }
    setBusy(false);
  };
  return { callers, isBusy, choose };
}

function SimpleCallers({ callers, choose }: ChoiceProps) {
  return (
    <div class="reference-callers">
      {callers.simple.map((one) => (
        <button
          key={one.kind}
          type="button"
          aria-pressed={one.kind === callers.current.value.kind ? 'true' : 'false'}
          onClick={() => choose(async () => callers.choose(one))}
        >
          <b>{one.label}</b>
          <span class="soft">{one.explanation}</span>
        </button>
      ))}
    </div>
  );
}

function PasswordSignIn({ callers, isBusy, choose }: ChoiceProps) {
  const [email, setEmail] = useState('');
  const [password, setPassword] = useState('');
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    choose(async () => callers.choose(await signIn({ email, password })));
  };
  return (
    <form class="reference-choice" onSubmit={submit}>
      <h3>{texts.callers.password.heading}</h3>
      <div class="reference-row">
        <label>
          {texts.callers.password.email}
          <input
            type="email"
            autocomplete="off"
            required
            value={email}
            onInput={(event) => setEmail(event.currentTarget.value)}
          />
        </label>
        <label>
          {texts.callers.password.password}
          <input
            type="password"
            autocomplete="off"
            required
            value={password}
            onInput={(event) => setPassword(event.currentTarget.value)}
          />
        </label>
        <button type="submit" disabled={isBusy}>
          {texts.callers.password.submit}
        </button>
      </div>
    </form>
  );
}

function PastedToken({ callers, choose, acceptsKeys }: ChoiceProps & { acceptsKeys: boolean }) {
  const [token, setToken] = useState('');
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    choose(async () => callers.choose(pastedToken(token)));
  };
  return (
    <form class="reference-choice" onSubmit={submit}>
      <h3>{acceptsKeys ? texts.callers.token.headingWithKeys : texts.callers.token.heading}</h3>
      <div class="reference-row">
        <label>
          {texts.callers.token.label}
          <input
            type="password"
            autocomplete="off"
            required
            pattern="[\x21-\x7e]+"
            title={texts.callers.token.rule}
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        <button type="submit">{texts.callers.token.submit}</button>
      </div>
    </form>
  );
}

function CallerDialog({ close, reference: { document, byId, site } }: { close: () => void; reference: Reference }) {
  const { callers, CallerChoice } = site;
  const props = useChoice(callers, close);
  const schemes = document.components?.securitySchemes ?? {};
  return (
    <Dialog title={texts.callers.heading} onClose={close} wide={true}>
      <div class="stack">
        <SimpleCallers {...props} />
        {CallerChoice && <CallerChoice {...props} />}
        {byId.has('login') && <PasswordSignIn {...props} />}
        <PastedToken {...props} acceptsKeys={'apiKey' in schemes} />
        <p class="soft">{site.tokenText}</p>
      </div>
    </Dialog>
  );
}

/** The caller of requests, with a dialog to choose another one. */
export function CallerButton({ reference }: { reference: Reference }) {
  const { label, kind } = reference.site.callers.current.value;
  const open = () => openDialog<void>(({ close }) => <CallerDialog close={close} reference={reference} />);
  return (
    <button type="button" class="reference-caller" onClick={open} aria-label={texts.callers.choose(label)}>
      <Icon name={kind === 'visitor' ? 'eye' : 'key'} />
      <span class="reference-caller-text">{richText(texts.callers.as, { caller: <b>{label}</b> })}</span>
    </button>
  );
}
