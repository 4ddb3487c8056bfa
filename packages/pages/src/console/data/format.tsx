import type { ComponentChild, ComponentChildren } from 'preact';
import { bytesText, localNumber, Time } from '../../kit/format.tsx';
import { texts } from '../texts.ts';
import type { FieldInfo, Labels } from './app-info.ts';
import { dataHref, resourceOf } from './schema.ts';

/** What is shown of a field: its value depends on its type only. */
type ShownField = Pick<FieldInfo, 'type' | 'target'> & { name?: string; inner?: ShownField };

/** Times that Belfry sets. What is known of them is how long ago they were; all others are dates that somebody has chosen. */
const SYSTEM_TIMES: readonly (string | undefined)[] = ['createdAt', 'updatedAt', 'deletedAt'];

/** Links are followed only to these schemes: a record may hold `javascript:` addresses. */
const SAFE_LINK = /^(https?|mailto):/i;
const IMAGE_TYPE = /^image\/(png|jpe?g|gif|webp|avif)$/;
const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

/** A value that the server does not reveal. */
export const isSecret = (value: unknown): value is { $secret: true; isSet: boolean } =>
  isObject(value) && value.$secret === true;

/** A long value whose text the server has cut for a list. */
const isCut = (value: unknown): value is { $cut: true; text: string } => isObject(value) && value.$cut === true;

export const isSafeLink = (text: unknown): text is string => typeof text === 'string' && SAFE_LINK.test(text);

/** Whether the browser shows a file as an image. The address must be one that the page's policy allows. */
export const isImage = (file: { type?: string; url?: unknown } | undefined): boolean =>
  IMAGE_TYPE.test(file?.type ?? '') && typeof file?.url === 'string';

/** The address of a file, on this origin if possible: the policy of the page allows images of this origin only. */
export function fileUrl(url: string): string | undefined {
  if (!URL.canParse(url, location.origin)) return undefined;
  const parsed = new URL(url, location.origin);
  if (!/^https?:$/.test(parsed.protocol)) return undefined;
  return parsed.pathname.startsWith('/api/files/') ? parsed.pathname + parsed.search : parsed.href;
}

/** A link to a referenced record, with its label if the server has sent it. `href`: default the page of the record in the Data tab. */
export function Reference({
  target,
  id,
  labels,
  href,
}: {
  target: string;
  id: string;
  labels?: Labels | undefined;
  href?: string | undefined;
}) {
  const known = resourceOf(target) !== undefined;
  const label = labels?.[target]?.[id];
  const text = label ?? id;
  if (!known) return <code>{text}</code>;
  const className = label === undefined ? 'reference missing' : 'reference';
  return (
    <a class={className} href={href ?? dataHref([target, id])} title={`${target} ${id}`}>
      {text}
    </a>
  );
}

const Empty = () => (
  <span class="empty-value" title={texts.data.noValue}>
    –
  </span>
);

const isEmpty = (value: unknown): value is null | undefined => value === null || value === undefined;

interface ValueProps<T> {
  field: ShownField;
  value: T;
  labels?: Labels | undefined;
}

function ListValue({ field, value, labels }: ValueProps<unknown[]>): ComponentChildren {
  if (value.length === 0) return <Empty />;
  const inner = field.type === 'refs' ? { type: 'ref', target: field.target } : (field.inner ?? { type: 'json' });
  return (
    <>
      {value
        .slice(0, 5)
        .map((item, index) => [
          index > 0 ? ', ' : '',
          <Value key={index} field={inner} value={item} labels={labels} />,
        ])}
      {value.length > 5 && <span class="soft"> +{value.length - 5}</span>}
    </>
  );
}

const FileValue = ({ name, bytes }: { name: string; bytes: number }) => (
  <span>
    {name} <span class="soft">{bytesText(bytes)}</span>
  </span>
);

/** The value of a field, as a list shows it: on one line, and always as text. */
export function Value({ field, value, labels }: ValueProps<unknown>): ComponentChild {
  if (isEmpty(value)) return <Empty />;
  if (isSecret(value)) return <span class="soft">{value.isSet ? '••••••••' : texts.data.notSet}</span>;
  if (isCut(value)) return `${value.text}…`;
  if (Array.isArray(value)) return <ListValue field={field} value={value} labels={labels} />;
  switch (field.type) {
    case 'boolean':
      return <span class={`flag ${value}`}>{value ? texts.data.yes : texts.data.no}</span>;
    case 'enum':
      return <span class="chip">{String(value)}</span>;
    case 'date':
      return <Time value={String(value)} isAbsolute={!SYSTEM_TIMES.includes(field.name)} />;
    case 'ref':
      return (
        <Reference
          target={field.target ?? ''}
          id={String(isObject(value) ? (value.id ?? value) : value)}
          labels={labels}
        />
      );
    case 'integer':
    case 'number':
    case 'decimal':
      return localNumber(value);
    case 'id':
      return <code>{String(value)}</code>;
    case 'file':
      return isObject(value) && <FileValue name={String(value.name)} bytes={Number(value.bytes ?? 0)} />;
    default:
      return typeof value === 'object' ? <code>{JSON.stringify(value)}</code> : String(value);
  }
}

/** A value as text, for comparisons and the history. */
export function plainText(value: unknown): string {
  if (isEmpty(value)) return '–';
  if (isSecret(value)) return value.isSet ? '••••••••' : texts.data.notSet;
  return typeof value === 'object' ? JSON.stringify(value, null, 2) : String(value);
}

/** Whether two values of JSON are the same; the order of an object's members does not matter. */
export function isSame(a: unknown, b: unknown): boolean {
  if (a === b || (isEmpty(a) && isEmpty(b))) return true;
  if (!isObject(a) || !isObject(b)) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const keys = new Set([...Object.keys(a), ...Object.keys(b)]);
  return [...keys].every((key) => isSame(a[key], b[key]));
}
