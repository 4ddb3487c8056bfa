import { useRef, useState } from 'preact/hooks';
import { Icon } from './icons.tsx';
import { texts } from './texts.ts';
import { showToast } from './toasts.tsx';

/** Copies a text, and says so. */
export async function copyText(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    showToast(texts.copied);
  } catch {
    showToast(texts.copyBlocked, { kind: 'error' });
  }
}

/** A text such as JSON or a command, with a button that copies it. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div class="code">
      <pre tabindex={0} role="region" aria-label={label}>
        <code>{text}</code>
      </pre>
      <button type="button" onClick={() => copyText(text)}>
        <Icon name="copy" />
        {texts.copy}
      </button>
    </div>
  );
}

/** Copies a text. Where the browser allows no access to the clipboard, as in some frames, the text is selected instead. */
function CopyButton({ text, target, label }: { text: string; target: { current: Element | null }; label: string }) {
  const [done, setDone] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text);
      setDone(texts.copied);
    } catch (error) {
      if (!(error instanceof DOMException || error instanceof TypeError)) throw error;
      if (target.current !== null) getSelection()?.selectAllChildren(target.current);
      setDone(texts.selected);
    }
  };
  return (
    <span class="copy">
      <button type="button" class="small" onClick={copy} aria-label={label}>
        {texts.copy}
      </button>
      <span role="status" class="soft">
        {done}
      </span>
    </span>
  );
}

/** A text with a button that copies it. For pages without toasts. */
export function Copyable({ text, label, block = false }: { text: string; label: string; block?: boolean }) {
  const target = useRef<HTMLElement>(null);
  return (
    <div class={block ? 'copyable block' : 'copyable'}>
      {block ? (
        <pre tabindex={0} role="region" aria-label={label}>
          <code ref={target}>{text}</code>
        </pre>
      ) : (
        <code ref={target}>{text}</code>
      )}
      <CopyButton text={text} target={target} label={texts.copyLabel(label)} />
    </div>
  );
}
