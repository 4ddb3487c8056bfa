import type { ComponentChildren } from 'preact';
import { sentenceCase } from './format.tsx';
import { numberText } from './numbers.ts';

/** A part of a page with a heading. */
export function Section({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ComponentChildren;
  children?: ComponentChildren;
}) {
  return (
    <section class="part" aria-label={title}>
      <header>
        <h2>{title}</h2>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </section>
  );
}

/** An empty state: says what will appear here, and how. */
export function Nothing({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="nothing">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

/** The colour of a state. */
export type StatusKind = 'good' | 'bad' | 'warn' | 'neutral';

/** A state in words, with a colour. It begins with a capital. */
export function Status({ kind, children }: { kind: StatusKind; children: ComponentChildren }) {
  const [first, ...rest] = [children].flat();
  return (
    <span class={`status ${kind}`}>
      {typeof first === 'string' ? sentenceCase(first) : first}
      {rest}
    </span>
  );
}

/**
 * A number with its name and a note, within an element of the class `figures`.
 */
export function Figure({
  label,
  value,
  note,
  href,
  kind = '',
}: {
  label: string;
  value: ComponentChildren;
  note?: ComponentChildren;
  /** The list of what is counted. */
  href?: string | undefined;
  /** The colour of the number. */
  kind?: 'good' | 'bad' | 'warn' | '' | undefined;
}) {
  const content = (
    <>
      <span class="figure-label">{label}</span>
      <b>{typeof value === 'number' ? numberText(value) : value}</b>
      {note && <span class="soft">{note}</span>}
    </>
  );
  return href === undefined ? (
    <div class={`figure ${kind}`}>{content}</div>
  ) : (
    <a class={`figure ${kind}`} href={href}>
      {content}
    </a>
  );
}

/** Two or more views of the same content, of which one is chosen. */
export function Choice<Value extends string>({
  label,
  options,
  value,
  onChange,
}: {
  /** The accessible name of the buttons together. */
  label: string;
  options: readonly (readonly [value: Value, text: string])[];
  value: Value;
  onChange: (value: Value) => unknown;
}) {
  return (
    <div class="choice" role="group" aria-label={label}>
      {options.map(([option, text]) => (
        <button
          key={option}
          type="button"
          aria-pressed={option === value ? 'true' : 'false'}
          onClick={() => onChange(option)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

/** Names with values. Values that are undefined or null are left out. */
export function Facts({ of }: { of: readonly (readonly [name: string, value: ComponentChildren])[] }) {
  return (
    <dl class="facts">
      {of
        .filter(([, value]) => value !== undefined && value !== null)
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  );
}
