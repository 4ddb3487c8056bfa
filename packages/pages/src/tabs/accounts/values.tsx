import { signal } from '@preact/signals';
import { app, RecordLink, Time, userResource } from '../../console/kit.ts';
import { texts } from './texts.ts';
import type { AccountFacts, PanelValue, PanelValueKind } from './types.ts';

/** The path of the tab. */
export const ACCOUNTS = '/console/accounts';

/** Other values of users, such as “System”, are shown as text. */
const ID = /^[0-9a-f]{24}$/;

/** Texts of a list that are shown; the others are counted. */
const MAX_LISTED = 6;

/** What accounts of this app have. Set before a page of the tab is shown. */
export const accountFacts = signal<AccountFacts>({
  roles: null,
  hasStatus: false,
  hasVerification: false,
  summaries: [],
  sections: [],
});

export const accountHref = (id: string) => `${ACCOUNTS}/users/${encodeURIComponent(id)}`;

const Empty = () => (
  <span class="empty-value" title={texts.noValue}>
    –
  </span>
);

/** Short texts side by side, such as roles. */
export function Chips({ of }: { of: readonly string[] }) {
  if (of.length === 0) return <Empty />;
  return (
    <span class="accounts-chips">
      {of.slice(0, MAX_LISTED).map((text) => (
        <span key={text} class="chip" title={text}>
          {text}
        </span>
      ))}
      {of.length > MAX_LISTED && (
        <span class="soft" title={of.slice(MAX_LISTED).join(', ')}>
          +{of.length - MAX_LISTED}
        </span>
      )}
    </span>
  );
}

/** A record as the resource and id of a value, `post/65f0…`: a link if it is one of the app. Something else has an id of its own, or none. */
function PanelRecord({ value }: { value: string }) {
  const [resource = '', ...rest] = value.split('/');
  const id = rest.join('/');
  if (id === '') return <span>{resource}</span>;
  const isResource = app.value.resources.some(({ name }) => name === resource);
  return (
    <span class="accounts-record">
      {resource} {isResource ? <RecordLink resource={resource} id={id} /> : <code>{id}</code>}
    </span>
  );
}

/** A value of a panel. Everything is shown as text, because users choose some of it. */
export function ShownValue({ value, kind }: { value: PanelValue | undefined; kind?: PanelValueKind }) {
  if (value === null || value === undefined || value === '') return <Empty />;
  if (Array.isArray(value)) return <Chips of={value.map(String)} />;
  if (typeof value === 'boolean') return value ? texts.yes : texts.no;
  const text = String(value);
  const users = userResource();
  if (kind === 'time') return <Time value={text} />;
  if (kind === 'code') return <code>{text}</code>;
  if (kind === 'record') return <PanelRecord value={text} />;
  if (kind === 'user' && users && ID.test(text))
    return <RecordLink resource={users.name} id={text} href={accountHref(text)} />;
  return text;
}
