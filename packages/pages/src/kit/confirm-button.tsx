import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { texts } from './texts.ts';

interface ConfirmButtonProps {
  label: string;
  question: string;
  /** The text of the button that performs the action. */
  confirm: string;
  kind?: 'danger' | 'primary' | '';
  busy?: boolean;
  onConfirm: () => unknown;
}

/** A button for an action that needs a confirmation, which replaces the button. No dialog: a tall frame could hide it. */
export function ConfirmButton({ label, question, confirm, kind = '', busy = false, onConfirm }: ConfirmButtonProps) {
  const [asking, setAsking] = useState(false);
  const first = useRef<HTMLButtonElement>(null);
  const opener = useRef<HTMLButtonElement>(null);
  const wasAsking = useRef(false);
  useLayoutEffect(() => {
    if (asking) first.current?.focus();
    else if (wasAsking.current) opener.current?.focus();
    wasAsking.current = asking;
  }, [asking]);
  if (!asking)
    return (
      <button
        type="button"
        class={kind === 'danger' ? 'danger quiet' : kind}
        ref={opener}
        disabled={busy}
        onClick={() => setAsking(true)}
      >
        {label}
      </button>
    );
  const perform = async () => {
    await onConfirm();
    setAsking(false);
  };
  return (
    <div
      class="confirm"
      role="group"
      aria-label={label}
      onKeyDown={({ key }) => {
        if (key === 'Escape') setAsking(false);
      }}
    >
      <p>{question}</p>
      <div class="row">
        <button
          type="button"
          class={kind === 'danger' ? 'danger' : 'primary'}
          ref={first}
          disabled={busy}
          onClick={perform}
        >
          {confirm}
        </button>
        <button type="button" onClick={() => setAsking(false)}>
          {texts.cancel}
        </button>
      </div>
    </div>
  );
}
