import { type ComponentChildren, render } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { toRequestError } from '../kit/request.ts';
import { PasswordField, SecondFactorField } from './fields.tsx';
import { Form } from './form.tsx';
import { confirmWithPasskey, supportsPasskeys } from './passkeys.ts';
import type { TwoFactorStatus } from './responses.ts';
import { offers, pagePath, requestAsUser } from './session.ts';
import { texts } from './texts.ts';
import { Button, ProblemArea } from './view.tsx';

const { confirm: text } = texts;

/** The user has not confirmed who they are, so nothing was changed. */
export class CancelledError extends Error {
  constructor() {
    super(text.cancelled);
  }
}

/** The content of a dialog. `close` says whether it succeeded. */
type DialogContent = (close: (isDone: boolean) => void) => ComponentChildren;

/** A modal dialog. That of the kit would load its state and its texts, too: one more request for these pages. */
function Dialog({
  heading,
  onClose,
  children,
}: {
  heading: string;
  onClose: (isDone: boolean) => void;
  children: DialogContent;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => dialog.current?.showModal(), []);
  const close = (isDone: boolean) => dialog.current?.close(isDone ? 'done' : '');
  return (
    <dialog
      ref={dialog}
      aria-labelledby="dialog-title"
      onClose={({ currentTarget }) => onClose(currentTarget.returnValue === 'done')}
    >
      <ProblemArea>
        <header>
          <h2 id="dialog-title">{heading}</h2>
        </header>
        {children(close)}
      </ProblemArea>
    </dialog>
  );
}

/** Opens a dialog. @returns whether it was closed with success */
function openDialog(heading: string, content: DialogContent): Promise<boolean> {
  const host = document.createElement('div');
  document.body.append(host);
  return new Promise((resolve) => {
    function onClose(isDone: boolean) {
      render(null, host);
      host.remove();
      resolve(isDone);
    }
    render(
      <Dialog heading={heading} onClose={onClose}>
        {content}
      </Dialog>,
      host,
    );
  });
}

/** Asks before something is removed. @returns whether the user agrees */
export const askToRemove = (question: string, action: string): Promise<boolean> =>
  openDialog(question, (close) => (
    <footer>
      <Button run={() => close(false)}>{texts.cancel}</Button>
      <Button kind="danger" run={() => close(true)}>
        {action}
      </Button>
    </footer>
  ));

/** Whether the user has a second factor, whose code is needed to change something. */
export async function needsSecondFactor(): Promise<boolean> {
  return offers('twoFactor') && (await requestAsUser<TwoFactorStatus>('GET', '/auth/2fa')).enabled;
}

function Confirmation({
  methods,
  needsCode,
  close,
}: {
  methods: readonly string[];
  needsCode: boolean;
  close: (isDone: boolean) => void;
}) {
  return (
    <>
      <p>{text.intro}</p>
      {methods.includes('password') && (
        <Form
          submit={text.submit}
          send={async (values) => {
            await requestAsUser('POST', '/auth/reauthenticate', values);
            close(true);
          }}
        >
          <PasswordField />
          {needsCode && <SecondFactorField />}
        </Form>
      )}
      {methods.includes('passkey') && supportsPasskeys() && (
        <Button
          run={async () => {
            await confirmWithPasskey();
            close(true);
          }}
        >
          {text.passkey}
        </Button>
      )}
      <p>
        <a href={pagePath('sign-in', location.pathname)}>{text.signIn}</a>
      </p>
      <footer>
        <Button run={() => close(false)}>{texts.cancel}</Button>
      </footer>
    </>
  );
}

/** Asks the user to prove again who they are. @throws CancelledError */
async function confirmIdentity(): Promise<void> {
  const methods = await requestAsUser<string[]>('GET', '/auth/sign-in-methods');
  const needsCode = await needsSecondFactor();
  const isDone = await openDialog(text.heading, (close) => (
    <Confirmation methods={methods} needsCode={needsCode} close={close} />
  ));
  if (!isDone) throw new CancelledError();
}

/**
 * Runs an action that may require a recent sign-in. If it does, the user confirms who they are, and the action runs again.
 *
 * @throws CancelledError; what the action throws
 */
export async function withRecentSignIn<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    if (toRequestError(error).code !== 'RECENT_SIGN_IN_REQUIRED') throw error;
    await confirmIdentity();
    return action();
  }
}
