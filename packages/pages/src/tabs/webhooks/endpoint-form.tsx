import { useRef, useState } from 'preact/hooks';
import {
  allowLeaving,
  call,
  FormField,
  focusFirstError,
  type HeaderChanges,
  HeaderEditor,
  navigate,
  place,
  showError,
  toRequestError,
  useHeaderRows,
  useLeaveGuard,
  useLoaded,
} from '../../console/kit.ts';
import { FilterEditor } from '../../kit/filter/editor.tsx';
import { type FilterFields, type FilterRow, findChangedFilter, toRows } from '../../kit/filter/rows.ts';
import type { FilterTestResult } from '../../kit/filter/test.tsx';
import { texts as kitTexts } from '../../kit/texts.ts';
import { EventPicker } from './event-picker.tsx';
import { OwnerField } from './owner-field.tsx';
import type { Endpoint, EndpointFilter, EventSummary, RateLimit } from './responses.ts';
import { texts } from './texts.ts';

/** What is sent of an endpoint. */
export interface EndpointValues {
  url: string;
  description: string | null;
  events: string[];
  ordered: boolean;
  rateLimit: RateLimit | null;
  owner?: string;
  scope?: string;
  signing?: string;
  headers?: HeaderChanges;
  /** Left out if it does not change. */
  filter?: EndpointFilter | null;
}

type Errors = Readonly<Record<string, string>>;

/** Reads the fields of the form, except the owner, the events and the filter. */
function readValues(form: HTMLFormElement, isNew: boolean): Omit<EndpointValues, 'events' | 'filter'> {
  const data = new FormData(form);
  const read = (name: string) => String(data.get(name) ?? '').trim();
  const limit = Number(read('limit'));
  return {
    url: read('url'),
    description: read('description') || null,
    ordered: data.has('ordered'),
    rateLimit: limit > 0 ? { limit, windowSeconds: Number(read('window')) || 1 } : null,
    ...(isNew && { scope: read('scope'), signing: read('signing') }),
  };
}

function AddressFields({ endpoint, errors }: { endpoint: Endpoint | undefined; errors: Errors }) {
  return (
    <>
      <FormField form="webhooks" name="url" label={texts.form.url} errors={errors}>
        {(control) => (
          <input
            {...control}
            name="url"
            type="url"
            inputmode="url"
            autocomplete="off"
            spellcheck={false}
            placeholder="https://example.com/webhooks"
            defaultValue={endpoint?.url ?? ''}
          />
        )}
      </FormField>
      <FormField form="webhooks" name="description" label={texts.form.description} errors={errors}>
        {(control) => (
          <input {...control} name="description" maxlength={500} defaultValue={endpoint?.description ?? ''} />
        )}
      </FormField>
    </>
  );
}

/** The fields that only a new endpoint has. */
function KindFields({ errors }: { errors: Errors }) {
  return (
    <div class="webhooks-pair">
      <FormField form="webhooks" name="scope" label={texts.records} errors={errors}>
        {(control) => (
          <select {...control} name="scope">
            <option value="own">{texts.form.own}</option>
            <option value="global">{texts.form.global}</option>
          </select>
        )}
      </FormField>
      <FormField form="webhooks" name="signing" label={texts.signature} errors={errors}>
        {(control) => (
          <select {...control} name="signing">
            <option value="v1">{texts.form.v1}</option>
            <option value="v1a">{texts.form.v1a}</option>
          </select>
        )}
      </FormField>
    </div>
  );
}

function PaceFields({ endpoint, error }: { endpoint: Endpoint | undefined; error: string | undefined }) {
  const { limit = '', windowSeconds = 1 } = endpoint?.rateLimit ?? {};
  return (
    <details open={error !== undefined || endpoint?.ordered || endpoint?.rateLimit != null}>
      <summary>{texts.form.pace}</summary>
      <div class="stack">
        <label class="check">
          <input type="checkbox" name="ordered" defaultChecked={endpoint?.ordered ?? false} />
          {texts.form.ordered}
        </label>
        <div class="webhooks-pair">
          <FormField
            form="webhooks"
            name="limit"
            label={texts.form.limit}
            errors={error === undefined ? {} : { limit: error }}
            hint={texts.form.limitHint}
          >
            {(control) => <input {...control} name="limit" type="number" min="1" max="10000" defaultValue={limit} />}
          </FormField>
          <FormField form="webhooks" name="window" label={texts.form.window} errors={{}}>
            {(control) => (
              <input {...control} name="window" type="number" min="1" max="3600" defaultValue={windowSeconds} />
            )}
          </FormField>
        </div>
      </div>
    </details>
  );
}

const loadFields = async (event: string) =>
  (await call<FilterFields>(`/webhooks/event?name=${encodeURIComponent(event)}`)).data;

function FilterField({
  endpoint,
  rows,
  events,
  errors,
  onChange,
}: {
  endpoint: Endpoint | undefined;
  rows: FilterRow[];
  events: string[];
  errors: Errors;
  onChange: (rows: FilterRow[]) => void;
}) {
  const { data: known = [] } = useLoaded<EventSummary[]>('/webhooks/events');
  const test = async (filter: EndpointFilter | null) =>
    (
      await call<FilterTestResult[]>(`/webhooks/endpoints/${endpoint!.id}/filter/test`, {
        method: 'POST',
        body: { filter },
      })
    ).data;
  return (
    <FilterEditor
      rows={rows}
      events={events}
      known={known.map(({ name }) => name)}
      errors={errors}
      loadFields={loadFields}
      onChange={onChange}
      onTest={endpoint && test}
    />
  );
}

/**
 * The form of an endpoint.
 *
 * @param props `onSubmit`: saves, and returns the path of the page that follows
 */
export function EndpointForm({
  endpoint,
  onSubmit,
  cancelHref,
}: {
  endpoint?: Endpoint;
  onSubmit: (values: EndpointValues) => Promise<string>;
  cancelHref: string;
}) {
  const isNew = endpoint === undefined;
  const [owner, setOwner] = useState(place.value.params.get('owner'));
  const [events, setEvents] = useState(endpoint?.events ?? []);
  const [rows, setRows] = useState(() => toRows(endpoint?.filter ?? null));
  const [errors, setErrors] = useState<Errors>({});
  const [isSaving, setSaving] = useState(false);
  const [isDirty, setDirty] = useState(false);
  useLeaveGuard(isDirty);
  const headers = useHeaderRows(endpoint?.headers);
  const form = useRef<HTMLFormElement>(null);
  const errorOf = (name: string) =>
    Object.entries(errors).find(([key]) => key === name || key.startsWith(`${name}.`))?.[1];
  const change = ({ target }: Event) => {
    setErrors({});
    // The search only filters the events.
    if (!(target instanceof HTMLInputElement && target.type === 'search')) setDirty(true);
  };
  const markHeadersChanged = () => {
    setErrors({});
    setDirty(true);
  };
  const chooseOwner = (id: string | null) => {
    setOwner(id);
    setDirty(true);
  };
  const changeRows = (next: FilterRow[]) => {
    setRows(next);
    setErrors({});
    setDirty(true);
  };
  const submit = async (event: Event) => {
    event.preventDefault();
    if (form.current === null || headers.hasDuplicate) return;
    setSaving(true);
    try {
      const changed = headers.readChanges();
      const values = {
        ...readValues(form.current, isNew),
        events,
        ...findChangedFilter(endpoint?.filter ?? null, rows),
        ...(isNew && { owner: owner ?? '' }),
        ...(changed && { headers: changed }),
      };
      const href = await onSubmit(values);
      allowLeaving();
      await navigate(href);
    } catch (failure) {
      const { details } = toRequestError(failure);
      setErrors(details);
      focusFirstError(form.current);
      if (Object.keys(details).length === 0) showError(failure);
    }
    setSaving(false);
  };
  const eventsError = events.length === 0 ? texts.form.noEvents : errorOf('events');
  return (
    <form class="webhooks-form stack" ref={form} onSubmit={submit} onInput={change} novalidate>
      {isNew && (
        <OwnerField form="webhooks" value={owner} onChange={chooseOwner} errors={errors} hint={texts.form.ownerHint} />
      )}
      <AddressFields endpoint={endpoint} errors={errors} />
      <EventPicker chosen={events} onChange={setEvents} error={errorOf('events') && eventsError} />
      <FilterField endpoint={endpoint} rows={rows} events={events} errors={errors} onChange={changeRows} />
      {isNew && <KindFields errors={errors} />}
      <PaceFields endpoint={endpoint} error={errorOf('rateLimit')} />
      <HeaderEditor form="webhooks" headers={headers} errors={errors} onChange={markHeadersChanged} />
      <div class="actions">
        <button type="submit" class="primary" disabled={isSaving}>
          {isSaving ? texts.form.saving : isNew ? texts.form.create : texts.form.save}
        </button>
        <a class="button" href={cancelHref}>
          {kitTexts.cancel}
        </a>
      </div>
    </form>
  );
}
