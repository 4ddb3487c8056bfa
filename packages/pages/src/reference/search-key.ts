import type { RefObject } from 'preact';
import { useEffect } from 'preact/hooks';
import { isTyping } from '../kit/is-typing.ts';

/** Focuses a search field with the key `/`. */
export function useSearchKey(input: RefObject<HTMLInputElement | null>): void {
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      if (event.key !== '/' || isTyping(event)) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    document.addEventListener('keydown', focus);
    return () => document.removeEventListener('keydown', focus);
  }, []);
}
