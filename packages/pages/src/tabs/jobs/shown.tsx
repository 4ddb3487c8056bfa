import { Code, isSafeLink, Section, Value } from '../../console/kit.ts';
import { texts } from './texts.ts';
import type { ShownStored, ShownValue } from './types.ts';

function SingleValue({ type, value = null }: ShownValue) {
  if (type === 'url' && isSafeLink(value))
    return (
      <a href={value} target="_blank" rel="noopener noreferrer">
        {value}
      </a>
    );
  return <Value field={{ type: typeof value === 'boolean' ? 'boolean' : (type ?? 'string') }} value={value} />;
}

const OneValue = (shown: ShownValue) =>
  shown.rows === undefined ? <SingleValue {...shown} /> : <ShownRows rows={shown.rows} />;

/** Values with their labels, or the items of a list. All of them are texts, which are never parsed as HTML. */
export function ShownRows({ rows }: { rows: readonly ShownValue[] }) {
  if (rows.length === 0) return <span class="soft">{texts.run.empty}</span>;
  if (rows[0]?.label === undefined)
    return (
      <ul class="jobs-items">
        {rows.map((row, index) => (
          <li key={index}>
            <OneValue {...row} />
          </li>
        ))}
      </ul>
    );
  return (
    <dl class="jobs-values">
      {rows.map((row, index) => (
        <div key={index}>
          <dt>{row.label}</dt>
          <dd>
            <OneValue {...row} />
            {row.isDefault && <span class="soft"> {texts.form.isDefault}</span>}
          </dd>
        </div>
      ))}
    </dl>
  );
}

/** The input or the result of a job: readable, and as JSON on request. */
export function StoredSection({ title, stored }: { title: string; stored: ShownStored }) {
  return (
    <Section title={title}>
      <ShownRows rows={stored.rows} />
      {stored.isCut && <p class="jobs-note soft">{texts.run.cut}</p>}
      <details class="jobs-json">
        <summary>{texts.run.json}</summary>
        <Code text={stored.json} label={texts.run.jsonLabel(title)} />
      </details>
    </Section>
  );
}
