import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { Json } from './document.ts';

/** The method of an operation, in its colour. */
export const Method = ({ method }: { method: string }) => (
  <span class={`reference-method ${method.toLowerCase()}`}>{method === 'DELETE' ? 'DEL' : method}</span>
);

/** A description. Paragraphs and code are kept; nothing else in it is markup. */
export function Paragraphs({ text }: { text: string }) {
  return text
    .split('\n\n')
    .filter((one) => one.trim() !== '')
    .map((one) => (
      <p key={one} class="reference-text">
        {one.split('`').map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
      </p>
    ));
}

/** An example of a body, as text. */
export const ExampleText = ({ label, value }: { label: string; value: Json | undefined }) => (
  <pre class="reference-raw" tabindex={0} role="region" aria-label={label}>
    <code>{JSON.stringify(value, null, 2)}</code>
  </pre>
);

/** A part that is rendered only while it is open, because schemas may contain each other. */
export function Nested({ label, children }: { label: ComponentChildren; children: () => ComponentChildren }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details class="reference-nested" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{label}</summary>
      {isOpen && children()}
    </details>
  );
}

/** A part of a form that is rendered while it is open. It is open at first if it has values. */
export function Folded({
  label,
  count,
  children,
}: {
  label: string;
  /** The number of values. */
  count: number;
  children: () => ComponentChildren;
}) {
  const [isOpen, setOpen] = useState(count > 0);
  return (
    <details class="reference-nested" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {label}
        {count > 0 && <span class="badge-count">{count}</span>}
      </summary>
      {isOpen && <div class="reference-controls">{children()}</div>}
    </details>
  );
}
