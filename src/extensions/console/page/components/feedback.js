import { signal } from '@preact/signals';
import { html } from 'htm/preact';
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks';
import { guardLeaving } from '../router.js';
import { IconButton } from './icons.js';

const TOAST_MS = 6000;
const UNDO_MS = 12_000;
const toasts = signal([]);
const dialogs = signal([]);
let lastId = 0;

const removeToast = (id) => {
  toasts.value = toasts.value.filter((one) => one.id !== id);
};

/**
 * Shows a short message. Errors stay until the user closes them.
 *
 * @param {string} text
 * @param {{ kind?: 'done' | 'error', action?: { label: string, run: () => unknown } }} [options] `action`: such as undo
 */
export function showToast(text, { kind = 'done', action } = {}) {
  const id = ++lastId;
  toasts.value = [...toasts.value.slice(-3), { id, text, kind, action }];
  if (kind === 'done') setTimeout(removeToast, action === undefined ? TOAST_MS : UNDO_MS, id);
}

/** The message of an error, with the details that say more than the message. @param {{ message: string, details?: object }} error */
export function describeError({ message, details }) {
  const more = Object.entries(details ?? {}).filter(([, text]) => text !== message);
  return [message, ...more.map(([name, text]) => `${name}: ${text}`)].join(' · ');
}

/** Shows the message of an error, with the details that belong to no field of a form. */
export const showError = (error) => showToast(describeError(error), { kind: 'error' });

export function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${toasts.value.map(
      ({ id, text, kind, action }) => html`<div key=${id} class=${`toast ${kind}`}>
        <span>${text}</span>
        ${
          action &&
          html`<button
            type="button"
            class="plain"
            onClick=${() => {
              removeToast(id);
              action.run();
            }}
          >
            ${action.label}
          </button>`
        }
        <${IconButton} icon="close" label="Close message" onClick=${() => removeToast(id)} />
      </div>`,
    )}
  </div>`;
}

/** Where a dialog begins: at its first input, or else at its first button below, which cancels. */
const FIRST_CONTROLS = [
  ':scope > :not(header) :is(input:not([type="hidden"]), select, textarea):not(:disabled)',
  ':scope footer button:not(:disabled)',
];

/** A modal dialog. The browser keeps the focus in it, and returns the focus when it closes. */
export function Dialog({ title, onClose, children, wide = false }) {
  const dialog = useRef(null);
  // Not `useEffect`: it returns the focus only after the next paint, and a key that is pressed before that reaches nothing.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const element = dialog.current;
    element.showModal();
    const found = FIRST_CONTROLS.map((selector) => element.querySelector(selector));
    found.find((control) => control !== null)?.focus();
    return () => {
      // While a modal dialog is open, nothing outside of it takes the focus.
      element.close();
      before?.focus?.();
    };
  }, []);
  return html`<dialog
    ref=${dialog}
    class=${wide ? 'wide' : ''}
    aria-label=${title}
    onCancel=${(event) => {
      event.preventDefault();
      onClose();
    }}
  >
    <header>
      <h2>${title}</h2>
      <${IconButton} icon="close" label="Close" onClick=${onClose} />
    </header>
    ${children}
  </dialog>`;
}

/**
 * Asks before an action.
 *
 * @param {{ title: string, text?: string, action: string, isDangerous?: boolean }} question
 * @returns {Promise<boolean>} whether the user agrees
 */
export function confirmAction(question) {
  return openDialog(
    ({ close }) => html`<${Dialog} title=${question.title} onClose=${() => close(false)}>
      ${question.text && html`<p>${question.text}</p>`}
      <footer>
        <button type="button" onClick=${() => close(false)}>Cancel</button>
        <button type="button" class=${question.isDangerous ? 'danger' : 'primary'} onClick=${() => close(true)}>
          ${question.action}
        </button>
      </footer>
    <//>`,
  );
}

const confirmLeaving = () =>
  confirmAction({
    title: 'Leave without saving?',
    text: 'Your changes are not saved.',
    action: 'Leave',
    isDangerous: true,
  });

/**
 * Asks before the changes of a form would be lost.
 *
 * @param {boolean} isDirty whether there are changes
 */
export function useLeaveGuard(isDirty) {
  useEffect(() => (isDirty ? guardLeaving(confirmLeaving) : undefined), [isDirty]);
}

/** Lets the page be left without a question, once its changes are saved. */
export const allowLeaving = () => guardLeaving(async () => true)();

/**
 * Opens a dialog.
 *
 * @param {(props: { close: (result: any) => void }) => any} component shows a `Dialog`
 * @returns {Promise<any>} the result with which the dialog closes
 */
export function openDialog(component) {
  return new Promise((resolve) => {
    const id = ++lastId;
    const close = (result) => {
      dialogs.value = dialogs.value.filter((one) => one.id !== id);
      resolve(result);
    };
    dialogs.value = [...dialogs.value, { id, component, close }];
  });
}

/** The open dialogs. */
export function Dialogs() {
  return dialogs.value.map(({ id, component: Content, close }) => html`<${Content} key=${id} close=${close} />`);
}
