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

/** The content of a dialog. `finish` closes it with success. */
type DialogContent = (finish: () => void) => ComponentChildren;

/** A modal dialog. The browser keeps the focus in it, and returns the focus to where it was. */
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
  const close = (value: string) => dialog.current?.close(value);
  return (
    <dialog
      ref={dialog}
      aria-labelledby="dialog-title"
      onClose={({ currentTarget }) => onClose(currentTarget.returnValue === 'done')}
    >
      <ProblemArea>
        <h2 id="dialog-title">{heading}</h2>
        {children(() => close('done'))}
        <Button run={() => close('')}>{texts.cancel}</Button>
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
  openDialog(question, (finish) => (
    <Button kind="danger" run={finish}>
      {action}
    </Button>
  ));

/** Whether the user has a second factor, whose code is needed to change something. */
export async function needsSecondFactor(): Promise<boolean> {
  return offers('twoFactor') && (await requestAsUser<TwoFactorStatus>('GET', '/auth/2fa')).enabled;
}

function Confirmation({
  methods,
  needsCode,
  onDone,
}: {
  methods: readonly string[];
  needsCode: boolean;
  onDone: () => void;
}) {
  return (
    <>
      <p>{text.intro}</p>
      {methods.includes('password') && (
        <Form
          submit={text.submit}
          send={async (values) => {
            await requestAsUser('POST', '/auth/reauthenticate', values);
            onDone();
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
            onDone();
          }}
        >
          {text.passkey}
        </Button>
      )}
      <p>
        <a href={pagePath('sign-in', location.pathname)}>{text.signIn}</a>
      </p>
    </>
  );
}

/** Asks the user to prove again who they are. @throws CancelledError */
async function confirmIdentity(): Promise<void> {
  const methods = await requestAsUser<string[]>('GET', '/auth/sign-in-methods');
  const needsCode = await needsSecondFactor();
  const isDone = await openDialog(text.heading, (finish) => (
    <Confirmation methods={methods} needsCode={needsCode} onDone={finish} />
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
