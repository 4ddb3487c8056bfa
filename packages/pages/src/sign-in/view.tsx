import { type ComponentChildren, createContext } from 'preact';
import { useContext, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../kit/icons.tsx';
import { toRequestError } from '../kit/request.ts';
import { config, pagePath } from './session.ts';
import { texts } from './texts.ts';

/** Has screen readers announce a text without moving the focus. */
export function announce(text: string): void {
  const status = document.getElementById('status');
  if (status !== null) status.textContent = text;
}

/** A box with an error, which screen readers announce at once; nothing without one. */
export function Problem({ text }: { text: string | undefined }) {
  if (text === undefined || text === '') return null;
  return (
    <p class="problem" role="alert">
      {text}
    </p>
  );
}

/** Shows an error below the part of the page that caused it; an empty text removes it. */
export const ProblemContext = createContext((_text: string): void => {});

/** A part of the page that shows the errors of the buttons in it, at its end. */
export function ProblemArea({ children }: { children: ComponentChildren }) {
  const [text, showProblem] = useState('');
  return (
    <ProblemContext.Provider value={showProblem}>
      {children}
      <Problem text={text} />
    </ProblemContext.Provider>
  );
}

/**
 * A button that does something other than sending a form. `run` may be asynchronous; further clicks do nothing until it ends. Meanwhile the
 * button stays focusable for screen readers.
 */
export function Button({
  kind = 'secondary',
  label,
  run,
  children,
}: {
  kind?: 'primary' | 'secondary' | 'danger';
  /** The accessible name, if the text alone does not say what the action is about. */
  label?: string;
  run: () => unknown;
  children: ComponentChildren;
}) {
  const showProblem = useContext(ProblemContext);
  const [isRunning, setRunning] = useState(false);
  async function onClick() {
    showProblem('');
    if (isRunning) return;
    setRunning(true);
    try {
      await run();
    } catch (error) {
      showProblem(toRequestError(error).message);
    } finally {
      setRunning(false);
    }
  }
  return (
    <button type="button" class={kind} aria-label={label} aria-disabled={isRunning || undefined} onClick={onClick}>
      {children}
    </button>
  );
}

/** The button in a field for a password that shows what was typed. @param props `label`: of the field */
export function RevealButton({
  label,
  isRevealed,
  onClick,
}: {
  label: string;
  isRevealed: boolean;
  onClick: () => void;
}) {
  return (
    <button type="button" class="icon-button reveal" aria-pressed={isRevealed ? 'true' : 'false'} onClick={onClick}>
      <Icon name="eye" size={20} />
      <span class="visually-hidden">{texts.showPassword(label)}</span>
    </button>
  );
}

/** The props of the component for one kind of view: what it shows, and the function that replaces it with another view. */
export type ViewProps<AnyView extends { kind: string }, Kind extends AnyView['kind']> = Extract<
  AnyView,
  { kind: Kind }
> & { show: (view: AnyView) => void };

let isFirstView = true;

/** What a page shows at one time, below a heading. Each view except the first one moves the focus to the heading. */
export function View({
  heading,
  problem,
  isWorking = false,
  children,
}: {
  heading: string;
  /** Shown above the content until a button is used. */
  problem?: string | undefined;
  /** Whether another view follows by itself. */
  isWorking?: boolean;
  children?: ComponentChildren;
}) {
  const title = useRef<HTMLHeadingElement>(null);
  const [reported, showProblem] = useState<string>();
  useLayoutEffect(() => {
    document.title = `${heading} · ${config.title}`;
    if (!isFirstView) title.current?.focus();
    isFirstView = false;
    if (!isWorking) document.body.dataset.ready = '';
  }, []);
  return (
    <ProblemContext.Provider value={showProblem}>
      <h1 ref={title} tabindex={-1}>
        {heading}
      </h1>
      {reported === undefined && <Problem text={problem} />}
      {children}
      <Problem text={reported} />
    </ProblemContext.Provider>
  );
}

/** The link below a form that leads back to the sign-in. */
export function BackToSignIn() {
  return (
    <p class="footer">
      <a href={pagePath('sign-in')}>{texts.forgot.back}</a>
    </p>
  );
}

const DoneContext = createContext((_text: string): void => {});

/** Returns the function that reports success in a section of which the control that had the focus is gone: the focus moves to the heading. */
export const useReportDone = () => useContext(DoneContext);

/** A section of a page with a heading of its own. */
export function Section({ heading, children }: { heading: string; children: ComponentChildren }) {
  const title = useRef<HTMLHeadingElement>(null);
  function reportDone(text: string) {
    if (title.current !== null) title.current.tabIndex = -1;
    title.current?.focus();
    announce(text);
  }
  return (
    <section>
      <DoneContext.Provider value={reportDone}>
        <ProblemArea>
          <h2 ref={title}>{heading}</h2>
          {children}
        </ProblemArea>
      </DoneContext.Provider>
    </section>
  );
}

/** Content behind a summary, which the user opens. */
export function Disclosure({
  summary,
  label,
  children,
}: {
  summary: string;
  label?: string;
  children: ComponentChildren;
}) {
  return (
    <details>
      <summary aria-label={label}>{summary}</summary>
      {children}
    </details>
  );
}
