import { signal } from '@preact/signals';
import type { ComponentChildren, ComponentType } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { IconButton } from './icons.tsx';
import { texts } from './texts.ts';

/** An open dialog. */
interface OpenDialog {
  id: number;
  Content: ComponentType;
}

const dialogs = signal<readonly OpenDialog[]>([]);
let lastId = 0;

/** Where a dialog begins: at its first input, or else at its first button below, which cancels. */
const FIRST_CONTROLS = [
  ':scope > :not(header) :is(input:not([type="hidden"]), select, textarea):not(:disabled)',
  ':scope footer button:not(:disabled)',
];

/** A modal dialog. The browser keeps the focus in it, and returns the focus when it closes. */
export function Dialog({
  title,
  onClose,
  children,
  wide = false,
}: {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
  wide?: boolean;
}) {
  const dialog = useRef<HTMLDialogElement>(null);
  // Not `useEffect`: it returns the focus only after the next paint, and a key that is pressed before that reaches nothing.
  useLayoutEffect(() => {
    const before = document.activeElement;
    const element = dialog.current;
    if (element === null) return undefined;
    element.showModal();
    const found = FIRST_CONTROLS.map((selector) => element.querySelector<HTMLElement>(selector));
    found.find((control) => control !== null)?.focus();
    return () => {
      // While a modal dialog is open, nothing outside of it takes the focus.
      element.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return (
    <dialog
      ref={dialog}
      class={wide ? 'wide' : ''}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <header>
        <h2>{title}</h2>
        <IconButton icon="close" label={texts.close} onClick={onClose} />
      </header>
      {children}
    </dialog>
  );
}

/** A question before an action. */
export interface Question {
  title: string;
  text?: string;
  /** The text of the button. */
  action: string;
  isDangerous?: boolean;
}

/** Asks before an action. @returns whether the user agrees */
export function confirmAction(question: Question): Promise<boolean> {
  return openDialog<boolean>(({ close }) => (
    <Dialog title={question.title} onClose={() => close(false)}>
      {question.text && <p>{question.text}</p>}
      <footer>
        <button type="button" onClick={() => close(false)}>
          {texts.cancel}
        </button>
        <button type="button" class={question.isDangerous ? 'danger' : 'primary'} onClick={() => close(true)}>
          {question.action}
        </button>
      </footer>
    </Dialog>
  ));
}

/**
 * Opens a dialog.
 *
 * @param Component shows a `Dialog`
 * @returns the result with which the dialog closes
 */
export function openDialog<Result>(Component: ComponentType<{ close: (result: Result) => void }>): Promise<Result> {
  return new Promise((resolve) => {
    const id = ++lastId;
    const close = (result: Result) => {
      dialogs.value = dialogs.value.filter((one) => one.id !== id);
      resolve(result);
    };
    dialogs.value = [...dialogs.value, { id, Content: () => <Component close={close} /> }];
  });
}

/** The open dialogs. A page has this component once. */
export function Dialogs() {
  return dialogs.value.map(({ id, Content }) => <Content key={id} />);
}
