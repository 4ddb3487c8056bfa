import type { ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { confirmAction, type Question } from './dialog.tsx';
import { showError, showToast } from './toasts.tsx';

/**
 * Returns the focus to a button that was disabled meanwhile. If the action has removed the button, its section gets the focus, or the heading of
 * the page.
 */
function restoreFocus(button: HTMLButtonElement, section: HTMLElement | null) {
  requestAnimationFrame(() => {
    if (document.activeElement !== document.body) return;
    if (button.isConnected && !button.disabled) button.focus();
    else if (section?.isConnected) {
      section.tabIndex = -1;
      section.focus({ preventScroll: true });
    } else document.querySelector<HTMLElement>('main h1')?.focus();
  });
}

interface ActionButtonProps {
  children: ComponentChildren;
  run: () => Promise<unknown>;
  confirm?: Question | undefined;
  /** The message after success. */
  done?: string | undefined;
  kind?: 'primary' | 'danger quiet' | 'plain' | '' | undefined;
  disabled?: boolean | undefined;
  /** The accessible name, if the text alone does not say what the action is about. */
  label?: string | undefined;
}

/** A button that performs an action: it asks before, is disabled meanwhile, and says that the action is done or why it failed. */
export function ActionButton(props: ActionButtonProps) {
  const { children, run, confirm, done, kind = '', disabled = false, label } = props;
  const [isRunning, setRunning] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const perform = async () => {
    if (confirm !== undefined && !(await confirmAction(confirm))) return;
    const { current } = button;
    if (current === null) return;
    const section = current.closest('section');
    setRunning(true);
    try {
      await run();
      if (done !== undefined) showToast(done);
    } catch (error) {
      showError(error);
    }
    setRunning(false);
    restoreFocus(current, section);
  };
  return (
    <button
      type="button"
      ref={button}
      class={kind}
      aria-label={label}
      aria-busy={isRunning ? 'true' : undefined}
      disabled={disabled || isRunning}
      onClick={perform}
    >
      {children}
    </button>
  );
}
