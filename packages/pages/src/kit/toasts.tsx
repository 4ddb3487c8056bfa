import { signal } from '@preact/signals';
import { IconButton } from './icons.tsx';
import { type RequestError, toRequestError } from './request.ts';
import { texts } from './texts.ts';

const TOAST_MS = 6000;
const UNDO_MS = 12_000;

interface ToastOptions {
  kind?: 'done' | 'error';
  /** Such as undo. */
  action?: { label: string; run: () => unknown } | undefined;
}

const toasts = signal<readonly (ToastOptions & { id: number; text: string })[]>([]);
let lastId = 0;

const removeToast = (id: number) => {
  toasts.value = toasts.value.filter((one) => one.id !== id);
};

/** Shows a short message. Errors stay until the user closes them. */
export function showToast(text: string, { kind = 'done', action }: ToastOptions = {}): void {
  const id = ++lastId;
  toasts.value = [...toasts.value.slice(-3), { id, text, kind, action }];
  if (kind === 'done') setTimeout(removeToast, action === undefined ? TOAST_MS : UNDO_MS, id);
}

/** The message of an error, with the details that say more than the message. */
export function describeError({
  message,
  details = {},
}: {
  message: string;
  details?: RequestError['details'];
}): string {
  const more = Object.entries(details).filter(([, text]) => text !== message);
  return [message, ...more.map(([name, text]) => `${name}: ${text}`)].join(' · ');
}

/** Shows the message of an error, with the details that belong to no field of a form. */
export const showError = (error: unknown): void => showToast(describeError(toRequestError(error)), { kind: 'error' });

/** The messages that are shown. A page has this component once. */
export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, text, kind, action }) => (
        <div key={id} class={`toast ${kind}`}>
          <span>{text}</span>
          {action && (
            <button
              type="button"
              class="plain"
              onClick={() => {
                removeToast(id);
                action.run();
              }}
            >
              {action.label}
            </button>
          )}
          <IconButton icon="close" label={texts.closeMessage} onClick={() => removeToast(id)} />
        </div>
      ))}
    </div>
  );
}
