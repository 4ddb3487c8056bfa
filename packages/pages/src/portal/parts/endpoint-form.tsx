import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { FilterEditor } from '../../kit/filter/editor.tsx';
import { type EndpointFilter, type FilterRow, findChangedFilter, toRows } from '../../kit/filter/rows.ts';
import type { FilterTestResult } from '../../kit/filter/test.tsx';
import { FormField } from '../../kit/form-field.tsx';
import { useHeaderRows } from '../../kit/header-editor.tsx';
import type { RequestError } from '../../kit/request.ts';
import { type EndpointRoles, readRole } from '../../kit/role-field.tsx';
import type { Endpoint, EndpointInput, EventSchema } from '../responses.ts';
import { send } from '../session.ts';
import { texts } from '../texts.ts';
import { AdvancedFields, DEFAULT_WINDOW_SECONDS } from './advanced-fields.tsx';
import { useCatalogue } from './catalogue.ts';
import { EventPicker } from './event-picker.tsx';
import { useFieldErrors } from './field-errors.ts';
import { Notice } from './page.tsx';

/** The fields whose errors are shown next to them. */
const FIELDS = ['url', 'description', 'events', 'rateLimit', 'headers', 'filter'];

const readText = (form: FormData, name: string) => String(form.get(name) ?? '');

/** Reads the controls of the form, which have the names of the fields. The events, the headers and the filter are not among them. */
function readValues(
  form: HTMLFormElement,
  isPolled: boolean,
  endpoint: Endpoint | undefined,
): Omit<EndpointInput, 'events' | 'headers' | 'filter'> {
  const data = new FormData(form);
  const limit = readText(data, 'rateLimit.limit');
  const windowSeconds = Number(data.get('rateLimit.windowSeconds')) || DEFAULT_WINDOW_SECONDS;
  const pushed = {
    url: readText(data, 'url'),
    ordered: data.has('ordered'),
    rateLimit: limit === '' ? null : { limit: Number(limit), windowSeconds },
  };
  return {
    description: readText(data, 'description') || null,
    ...(isPolled ? {} : pushed),
    ...(isPolled && endpoint === undefined && { delivery: 'poll' as const }),
    ...(data.has('signing') && { signing: readText(data, 'signing') }),
    ...(data.has('scope') && { scope: readText(data, 'scope') }),
    ...readRole(data, endpoint?.as),
  };
}

function DeliveryField({ isPolled, onChange }: { isPolled: boolean; onChange: (isPolled: boolean) => void }) {
  return (
    <FormField
      form="endpoint"
      name="delivery"
      label={texts.form.delivery}
      hint={isPolled ? texts.form.pollHint : undefined}
      errors={{}}
    >
      {(control) => (
        <select
          {...control}
          value={isPolled ? 'poll' : 'push'}
          onChange={({ currentTarget }) => onChange(currentTarget.value === 'poll')}
        >
          <option value="push">{texts.form.push}</option>
          <option value="poll">{texts.form.poll}</option>
        </select>
      )}
    </FormField>
  );
}

interface MainFieldsProps {
  endpoint: Endpoint | undefined;
  errors: Record<string, string>;
  isPolled: boolean;
}

function MainFields({ endpoint, errors, isPolled }: MainFieldsProps) {
  return (
    <>
      {!isPolled && (
        <FormField form="endpoint" name="url" label={texts.form.url} hint={texts.form.urlHint} errors={errors}>
          {(control) => (
            <input
              {...control}
              name="url"
              type="url"
              inputmode="url"
              autocomplete="url"
              spellcheck={false}
              required
              placeholder="https://example.com/webhooks"
              defaultValue={endpoint?.url ?? ''}
            />
          )}
        </FormField>
      )}
      <FormField form="endpoint" name="description" label={texts.form.description} errors={errors}>
        {(control) => (
          <input {...control} name="description" maxlength={500} defaultValue={endpoint?.description ?? ''} />
        )}
      </FormField>
    </>
  );
}

const loadFields = async (event: string) => (await send<EventSchema>(`/event?name=${encodeURIComponent(event)}`)).data;

function FilterField({
  endpoint,
  ...props
}: {
  endpoint: Endpoint | undefined;
  rows: FilterRow[];
  events: string[];
  errors: Record<string, string>;
  onChange: (rows: FilterRow[]) => void;
}) {
  const { data: known = [] } = useCatalogue();
  const test = async (filter: EndpointFilter | null) =>
    (await send<FilterTestResult[]>(`/${endpoint!.id}/filter/test`, { method: 'POST', body: { filter } })).data;
  return (
    <FilterEditor {...props} known={known.map(({ name }) => name)} loadFields={loadFields} onTest={endpoint && test} />
  );
}

/** The form of a new endpoint, or of the given one. `onSubmit` gets the body of the request. */
export function EndpointForm({
  endpoint,
  includeGlobal = false,
  roles,
  busy,
  error,
  label,
  onSubmit,
}: {
  endpoint?: Endpoint;
  includeGlobal?: boolean;
  /** Those that the link may give to endpoints of an organisation. */
  roles?: EndpointRoles | undefined;
  busy: boolean;
  error: RequestError | undefined;
  label: string;
  onSubmit: (values: EndpointInput) => unknown;
}) {
  const [events, setEvents] = useState(endpoint?.events ?? []);
  const headers = useHeaderRows(endpoint?.headers);
  const [rows, setRows] = useState(() => toRows(endpoint?.filter ?? null));
  const [isPolled, setPolled] = useState(endpoint?.delivery === 'poll');
  const form = useRef<HTMLFormElement>(null);
  const { errors, errorOf, message, markChanged } = useFieldErrors(error, FIELDS);
  // Not `useEffect`, which runs after the next paint: a key pressed before then would reach the button.
  useLayoutEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus();
  }, [error]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (form.current === null || headers.hasDuplicate) return;
    const changed = isPolled ? undefined : headers.readChanges();
    const filter = findChangedFilter(endpoint?.filter ?? null, rows);
    const values = readValues(form.current, isPolled, endpoint);
    onSubmit({ ...values, events, ...filter, ...(changed && { headers: changed }) });
  };
  return (
    <form
      onSubmit={submit}
      onInput={({ target }) => target instanceof HTMLInputElement && markChanged(target.name)}
      ref={form}
      novalidate
    >
      {endpoint === undefined && <DeliveryField isPolled={isPolled} onChange={setPolled} />}
      <MainFields endpoint={endpoint} errors={errors} isPolled={isPolled} />
      <EventPicker
        chosen={events}
        onChange={(chosen) => {
          setEvents(chosen);
          markChanged('events');
        }}
        error={errorOf('events') && (events.length === 0 ? texts.errors.noEvents : errorOf('events'))}
      />
      <FilterField
        endpoint={endpoint}
        rows={rows}
        events={events}
        errors={errors}
        onChange={(next) => {
          setRows(next);
          markChanged('filter');
        }}
      />
      <AdvancedFields
        endpoint={endpoint}
        isPolled={isPolled}
        includeGlobal={includeGlobal}
        roles={roles}
        limitError={errorOf('rateLimit')}
        headers={headers}
        errors={errors}
        onHeadersChange={() => markChanged('headers')}
      />
      <Notice kind="bad">{message}</Notice>
      <div class="row">
        <button type="submit" class="primary" disabled={busy}>
          {busy ? texts.saving : label}
        </button>
      </div>
    </form>
  );
}
