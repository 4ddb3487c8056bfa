import { useState } from 'preact/hooks';
import { texts } from '../texts.ts';

const MAX_ITEMS = 100;
const MAX_TEXT = 2000;
/** Objects and lists down to this depth are open at first. */
const OPEN_DEPTH = 3;

function Scalar({ value }: { value: unknown }) {
  if (value === null) return <span class="reference-json-null">null</span>;
  if (typeof value !== 'string') return <span class="reference-json-other">{String(value)}</span>;
  const isLong = value.length > MAX_TEXT;
  return <span class="reference-json-text">"{isLong ? `${value.slice(0, MAX_TEXT)}…` : value}"</span>;
}

const Key = ({ name }: { name: string | undefined }) =>
  name !== undefined && (
    <>
      <span class="reference-json-key">{name}</span>
      {': '}
    </>
  );

interface JsonViewProps {
  value: unknown;
  /** The name of the member that has the value. */
  name?: string | undefined;
  depth?: number;
}

/** A value of JSON. Objects and lists can be folded; their content is rendered only while they are open. */
export function JsonView({ value, name, depth = 0 }: JsonViewProps) {
  const isContainer = typeof value === 'object' && value !== null;
  const entries = isContainer ? Object.entries(value) : [];
  if (entries.length > 0)
    return <Container entries={entries} isList={Array.isArray(value)} name={name} depth={depth} />;
  return (
    <div class="reference-json-line">
      <Key name={name} />
      {!isContainer ? <Scalar value={value} /> : Array.isArray(value) ? '[]' : '{}'}
    </div>
  );
}

function Container({
  entries,
  isList,
  name,
  depth,
}: {
  entries: [string, unknown][];
  isList: boolean;
  name: string | undefined;
  depth: number;
}) {
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH && entries.length <= MAX_ITEMS);
  const [shown, setShown] = useState(MAX_ITEMS);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  const count = (isList ? texts.response.items : texts.response.members)(entries.length);
  return (
    <details class="reference-json" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <Key name={name} />
        {open}
        {!isOpen && (
          <>
            <span class="soft"> {count} </span>
            {close}
          </>
        )}
      </summary>
      {isOpen && (
        <>
          <div class="reference-json-inner">
            {entries.slice(0, shown).map(([key, item]) => (
              <JsonView key={key} value={item} name={isList ? undefined : key} depth={depth + 1} />
            ))}
            {entries.length > shown && (
              <button type="button" class="plain" onClick={() => setShown(shown + MAX_ITEMS)}>
                {texts.response.more(Math.min(MAX_ITEMS, entries.length - shown))}
              </button>
            )}
          </div>
          {close}
        </>
      )}
    </details>
  );
}
