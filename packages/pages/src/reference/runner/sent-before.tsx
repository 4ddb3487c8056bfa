import { durationText, Time } from '../../kit/format.tsx';
import type { Operation } from '../operations.ts';
import { texts } from '../texts.ts';
import { clearHistory, history } from './history.ts';
import type { KeptValues } from './secrets.ts';

/** Requests of an operation that were sent in this browser tab. */
export function SentBefore({
  operation,
  onRestore,
}: {
  operation: Operation;
  onRestore: (values: KeptValues) => void;
}) {
  const entries = history.value.filter((one) => one.operation === operation.id);
  if (entries.length === 0) return null;
  return (
    <details class="reference-nested">
      <summary>
        {texts.history.heading} <span class="badge-count">{entries.length}</span>
      </summary>
      <ul class="reference-history">
        {entries.map((entry) => (
          <li key={entry.at}>
            <button type="button" class="plain" onClick={() => onRestore(entry.values)} title={texts.history.fill}>
              {entry.status || texts.history.failed}
            </button>
            <code>{entry.path}</code>
            <span class="soft">
              {durationText(entry.ms)} · <Time value={entry.at} />
            </span>
          </li>
        ))}
      </ul>
      <p class="soft">
        {texts.history.withoutSecrets}{' '}
        <button type="button" class="plain" onClick={clearHistory}>
          {texts.history.clear}
        </button>
      </p>
    </details>
  );
}
