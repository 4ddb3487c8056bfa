import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { call, Dialog, type RequestError, sendWithCode, showToast, toRequestError } from '../../console/kit.ts';
import { texts as kitTexts } from '../../kit/texts.ts';

/** What the dialogs of the tab get from `openDialog`. */
export type CloseDialog = (isDone: boolean) => void;

/**
 * Sends an action, with a code of the administrator's second factor if it needs one.
 *
 * @returns false if the administrator cancels
 */
export const sendAction = (path: string, body: object) =>
  sendWithCode((code) => call(path, { method: 'POST', body: { ...body, ...code } }));

/** A dialog with a form that sends an action. `children`: the fields, which show the error. `done`: the message after success. */
export function ActionDialog(props: {
  title: string;
  submit: string;
  path: string;
  body: object;
  done: string;
  close: CloseDialog;
  children: (error: RequestError | undefined) => ComponentChildren;
}) {
  const { title, submit, path, body, done, close, children } = props;
  const [error, setError] = useState<RequestError>();
  const [isSending, setSending] = useState(false);
  const send = async (event: Event) => {
    event.preventDefault();
    setSending(true);
    try {
      if (!(await sendAction(path, body))) return setSending(false);
      showToast(done);
      close(true);
    } catch (failure) {
      setError(toRequestError(failure));
      setSending(false);
    }
  };
  return (
    <Dialog title={title} onClose={() => close(false)}>
      <form class="stack" onSubmit={send}>
        {children(error)}
        <footer>
          <button type="button" onClick={() => close(false)}>
            {kitTexts.cancel}
          </button>
          <button type="submit" class="primary" disabled={isSending}>
            {submit}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

/** The error of a field, or of a form. */
export function ErrorText({ text, id }: { text: string | undefined; id?: string }) {
  return (
    text !== undefined && (
      <p id={id} class="field-error" role="alert">
        {text}
      </p>
    )
  );
}

/** A field for an e-mail address. */
export function EmailField(props: {
  name: string;
  label: string;
  value: string;
  error: string | undefined;
  onChange: (value: string) => void;
}) {
  const { name, label, value, error, onChange } = props;
  const errorId = `accounts-${name}-error`;
  return (
    <div class="stack accounts-field">
      <label>
        {label}
        <input
          type="email"
          autocomplete="off"
          required
          value={value}
          aria-invalid={error ? 'true' : undefined}
          aria-describedby={error ? errorId : undefined}
          onInput={(event) => onChange(event.currentTarget.value)}
        />
      </label>
      <ErrorText id={errorId} text={error} />
    </div>
  );
}

/** A field for some of several choices. `isFixed`: whether a choice cannot be changed; `children`: below the choices. */
export function ChoicesField(props: {
  legend: ComponentChildren;
  choices: readonly string[];
  value: readonly string[];
  isFixed?: (choice: string) => boolean;
  onChange: (value: string[]) => void;
  children?: ComponentChildren;
}) {
  const { legend, choices, value, isFixed = () => false, onChange, children } = props;
  const toggle = (choice: string) =>
    onChange(value.includes(choice) ? value.filter((one) => one !== choice) : [...value, choice]);
  return (
    <fieldset class="accounts-choices">
      {legend}
      {choices.map((choice) => (
        <label key={choice} class="check">
          <input
            type="checkbox"
            checked={value.includes(choice)}
            disabled={isFixed(choice)}
            onChange={() => toggle(choice)}
          />
          {choice}
        </label>
      ))}
      {children}
    </fieldset>
  );
}
