import { Time } from '../../kit/format.tsx';
import type { Operation } from '../operations.ts';
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
        Sent before <span class="badge-count">{entries.length}</span>
      </summary>
      <ul class="reference-history">
        {entries.map((entry) => (
          <li key={entry.at}>
            <button
              type="button"
              class="plain"
              onClick={() => onRestore(entry.values)}
              title="Fill in the form with this request"
            >
              {entry.status || 'failed'}
            </button>
            <code>{entry.path}</code>
            <span class="soft">
              {entry.ms} ms · <Time value={entry.at} />
            </span>
          </li>
        ))}
      </ul>
      <p class="soft">
        Without secret values.{' '}
        <button type="button" class="plain" onClick={clearHistory}>
          Clear the history of all routes
        </button>
      </p>
    </details>
  );
}
