import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { texts } from '../texts.ts';
import type { Load } from './requests.ts';

/**
 * A heading that gets the focus when its view opens, so that keyboards and screen readers continue there. A frame without the focus does not
 * take it from the page around it.
 */
export function Title({ children, focus = true }: { children: string; focus?: boolean }) {
  const heading = useRef<HTMLHeadingElement>(null);
  // Before the view is painted: an effect after it could take the focus from a link that a person has already reached.
  useLayoutEffect(() => {
    if (focus && document.hasFocus()) heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <h1 tabindex={-1} ref={heading}>
      {children}
    </h1>
  );
}

/** A message about an action; screen readers announce it. An empty one stays in the document, so that the next text is announced. */
export function Notice({ kind, children }: { kind: 'good' | 'bad'; children: ComponentChildren }) {
  return (
    <div class={children ? `banner ${kind}` : ''} role={kind === 'bad' ? 'alert' : 'status'}>
      {children}
    </div>
  );
}

/** Says that data is being read. */
export function Loading() {
  return (
    <p class="blank soft" role="status">
      {texts.loading}
    </p>
  );
}

/** Shows what has been read, or that it is being read; if that fails, the error with a button to try again. */
export function Loaded<T>({
  from: { data, error, reload },
  children,
}: {
  from: Load<T>;
  children: (data: T) => ComponentChildren;
}) {
  return (
    <>
      <Notice kind="bad">
        {error && (
          <>
            <span>{error.message}</span>
            <button type="button" onClick={reload}>
              {texts.tryAgain}
            </button>
          </>
        )}
      </Notice>
      {data === undefined ? !error && <Loading /> : children(data)}
    </>
  );
}
