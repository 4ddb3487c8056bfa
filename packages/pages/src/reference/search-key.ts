import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';

/** Elements in which keys are text, or belong to something else. */
const TYPING = 'input, textarea, select, dialog, [contenteditable], .panel';

/** Focuses a search field with the key `/`. */
export function useSearchKey(input: RefObject<HTMLInputElement | null>): void {
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const { key, ctrlKey, metaKey, altKey, target } = event;
      const isTyping = !(target instanceof Element) || target.closest(TYPING) !== null;
      if (key !== '/' || ctrlKey || metaKey || altKey || isTyping) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
}
