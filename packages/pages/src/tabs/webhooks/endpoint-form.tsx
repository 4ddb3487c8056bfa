import { useRef, useState } from 'preact/hooks';
import {
  allowLeaving,
  call,
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
import { RoleField, readRole } from '../../kit/role-field.tsx';
import { texts as kitTexts } from '../../kit/texts.ts';
import { AddressFields, DeliveryField, KindFields, PaceFields } from './endpoint-fields.tsx';
import { EventPicker } from './event-picker.tsx';
import { OwnerField, OwnerKindField } from './owner-field.tsx';
import type { Endpoint, EndpointFilter, EventSummary, RateLimit, WebhookFacts } from './responses.ts';
import { texts } from './texts.ts';

/** What is sent of an endpoint. */
export interface EndpointValues {
  url?: string;
  description: string | null;
  events: string[];
  ordered?: boolean;
  rateLimit?: RateLimit | null;
  delivery?: 'poll';
  owner?: string;
  scope?: string;
  signing?: string;
  headers?: HeaderChanges;
  as?: string;
  /** Left out if it does not change. */
  filter?: EndpointFilter | null;
}

type Errors = Readonly<Record<string, string>>;

/** Reads the fields of the form, except the owner, the events and the filter. */
function readValues(
  form: HTMLFormElement,
  endpoint: Endpoint | undefined,
  isPolled: boolean,
): Omit<EndpointValues, 'events' | 'filter'> {
  const isNew = endpoint === undefined;
  const data = new FormData(form);
  const read = (name: string) => String(data.get(name) ?? '').trim();
  const limit = Number(read('limit'));
  const pushed = {
    url: read('url'),
    ordered: data.has('ordered'),
    rateLimit: limit > 0 ? { limit, windowSeconds: Number(read('window')) || 1 } : null,
  };
  return {
    description: read('description') || null,
    ...(isPolled ? {} : pushed),
    ...(isNew && isPolled && { delivery: 'poll' as const }),
    ...(isNew && { scope: read('scope') || 'own', signing: read('signing') }),
    ...readRole(data, endpoint?.as),
  };
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
  const { data: facts } = useLoaded<WebhookFacts>('/webhooks/facts');
  const [isOrganisation, setOrganisation] = useState(endpoint?.as !== undefined);
  const [events, setEvents] = useState(endpoint?.events ?? []);
  const [rows, setRows] = useState(() => toRows(endpoint?.filter ?? null));
  const [isPolled, setPolled] = useState(endpoint?.delivery === 'poll');
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
  const chooseOwnerKind = (next: boolean) => {
    setOrganisation(next);
    if (next) setEvents(events.filter((name) => facts?.organisationEvents.includes(name)));
    chooseOwner(null);
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
      const changed = isPolled ? undefined : headers.readChanges();
      const values = {
        ...readValues(form.current, endpoint, isPolled),
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
      {isNew && facts?.organisationRoles && (
        <OwnerKindField isOrganisation={isOrganisation} onChange={chooseOwnerKind} />
      )}
      {isNew && (
        <OwnerField
          form="webhooks"
          value={owner}
          onChange={chooseOwner}
          errors={errors}
          hint={isOrganisation ? texts.form.organisationHint : texts.form.ownerHint}
          isOrganisation={isOrganisation}
        />
      )}
      {isOrganisation && facts?.organisationRoles && (
        <RoleField form="webhooks" roles={facts.organisationRoles} value={endpoint?.as} errors={errors} />
      )}
      {isNew && <DeliveryField isPolled={isPolled} onChange={setPolled} />}
      <AddressFields endpoint={endpoint} errors={errors} isPolled={isPolled} />
      <EventPicker
        offered={isOrganisation ? facts?.organisationEvents : undefined}
        chosen={events}
        onChange={setEvents}
        error={errorOf('events') && eventsError}
      />
      <FilterField endpoint={endpoint} rows={rows} events={events} errors={errors} onChange={changeRows} />
      {isNew && <KindFields errors={errors} hasScope={!isOrganisation} />}
      {!isPolled && (
        <>
          <PaceFields endpoint={endpoint} error={errorOf('rateLimit')} />
          <HeaderEditor form="webhooks" headers={headers} errors={errors} onChange={markHeadersChanged} />
        </>
      )}
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
