import { button, element, link, paragraph } from './dom.js';
import { codeField, createForm, passwordField } from './form.js';
import { confirmWithPasskey, supportsPasskeys } from './passkeys.js';
import { offers, pagePath, requestAsUser } from './session.js';
import { texts } from './texts.js';

const { confirm: text } = texts;

const cancelledError = () => Object.assign(new Error(text.cancelled), { isCancelled: true });

/**
 * Opens a dialog. The browser keeps the focus in it, and returns the focus to where it was.
 *
 * @param {string} heading
 * @param {(finish: () => void) => (Node | undefined)[]} createContent `finish` closes the dialog with success
 * @returns {Promise<void>} rejected with `isCancelled` if the user closes it
 */
function openDialog(heading, createContent) {
  return new Promise((resolve, reject) => {
    const title = element('h2', { id: 'dialog-title' }, heading);
    const dialog = element('dialog', { 'aria-labelledby': 'dialog-title' });
    const finish = () => dialog.close('done');
    const cancel = button(texts.cancel, () => dialog.close(''));
    dialog.append(title, ...createContent(finish).filter((child) => child !== undefined), cancel);
    dialog.addEventListener('close', () => {
      dialog.remove();
      if (dialog.returnValue === 'done') resolve();
      else reject(cancelledError());
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** Asks before something is removed. @returns whether the user agrees */
export async function askToRemove(question, action) {
  try {
    await openDialog(question, (finish) => [button(action, finish, { kind: 'danger' })]);
    return true;
  } catch {
    return false;
  }
}

/** Returns the field for the code of the second factor, if the user has one. */
export async function findSecondFactorFields() {
  const isOn = offers('twoFactor') && (await requestAsUser('GET', '/auth/2fa')).enabled;
  return isOn ? [codeField({ hint: texts.hints.authenticatorCode, inputmode: 'text' })] : [];
}

/** Asks the user to prove again who they are. */
async function confirmIdentity() {
  const methods = await requestAsUser('GET', '/auth/sign-in-methods');
  const secondFactor = await findSecondFactorFields();
  await openDialog(text.heading, (finish) => {
    const form = createForm({
      fields: [passwordField(), ...secondFactor],
      submit: text.submit,
      async send(values) {
        await requestAsUser('POST', '/auth/reauthenticate', values);
        finish();
      },
    });
    const usePasskey = button(text.passkey, async () => {
      await confirmWithPasskey();
      finish();
    });
    return [
      paragraph(text.intro),
      methods.includes('password') ? form : undefined,
      methods.includes('passkey') && supportsPasskeys() ? usePasskey : undefined,
      element('p', {}, link(pagePath('sign-in', location.pathname), text.signIn)),
    ];
  });
}

/** Runs an action that may require a recent sign-in. If it does, the user confirms who they are, and the action runs again. */
export async function withRecentSignIn(action) {
  try {
    return await action();
  } catch (error) {
    if (error.code !== 'RECENT_SIGN_IN_REQUIRED') throw error;
    await confirmIdentity();
    return action();
  }
}
