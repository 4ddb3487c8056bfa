import { useState } from 'preact/hooks';
import { Time } from '../format.tsx';
import { numberText } from '../numbers.ts';
import { Status, type StatusKind } from '../parts.tsx';
import { toRequestError } from '../request.ts';
import { texts } from './texts.ts';

/** What a filter decides about an event of the delivery log. */
export interface FilterTestResult {
  deliveryId: string;
  type: string;
  createdAt: string;
  result: 'match' | 'no_match' | 'unknown';
  failed: { event: string; condition: string; error: string | null } | null;
}

const KINDS: Record<FilterTestResult['result'], StatusKind> = { match: 'good', no_match: 'neutral', unknown: 'warn' };

function Results({ results }: { results: FilterTestResult[] }) {
  const matches = results.filter(({ result }) => result === 'match').length;
  if (results.length === 0) return <p class="soft">{texts.test.empty}</p>;
  return (
    <>
      <p>{texts.test.matches(numberText(matches), numberText(results.length))}</p>
      <ul class="filter-results" aria-label={texts.test.label}>
        {results.map(({ deliveryId, type, createdAt, result, failed }) => (
          <li key={deliveryId}>
            <Status kind={KINDS[result]}>{texts.test[result]}</Status>
            <code>{type}</code>
            <Time value={createdAt} />
            {failed && <span class="soft">{texts.test.failed(failed.event, failed.condition)}</span>}
          </li>
        ))}
      </ul>
    </>
  );
}

/** Tests a filter with the last events. `onErrors`: gets the errors of conditions, which are shown in their rows. */
export function FilterTest({
  run,
  onErrors,
}: {
  run: () => Promise<FilterTestResult[]>;
  onErrors: (details: Readonly<Record<string, string>>) => void;
}) {
  const [results, setResults] = useState<FilterTestResult[]>();
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const test = async () => {
    setBusy(true);
    setResults(undefined);
    setFailure(undefined);
    try {
      setResults(await run());
    } catch (error) {
      const { message, details } = toRequestError(error);
      onErrors(details);
      if (Object.keys(details).length === 0) setFailure(message);
    }
    setBusy(false);
  };
  return (
    <>
      <div class="filter-buttons">
        <button type="button" disabled={isBusy} onClick={test}>
          {texts.test.submit}
        </button>
      </div>
      {failure && <p class="field-error">{failure}</p>}
      <div role="status">{results && <Results results={results} />}</div>
    </>
  );
}
