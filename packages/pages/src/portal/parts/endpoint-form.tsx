import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { FormField } from '../../kit/form-field.tsx';
import type { RequestError } from '../../kit/request.ts';
import type { Endpoint, EndpointInput } from '../responses.ts';
import { texts } from '../texts.ts';
import { AdvancedFields, DEFAULT_WINDOW_SECONDS } from './advanced-fields.tsx';
import { EventPicker } from './event-picker.tsx';
import { useFieldErrors } from './field-errors.ts';
import { Notice } from './page.tsx';

/** The fields whose errors are shown next to them. */
const FIELDS = ['url', 'description', 'events', 'rateLimit'];

const readText = (form: FormData, name: string) => String(form.get(name) ?? '');

/** Reads the controls of the form, which have the names of the fields. The events are not among them. */
function readValues(form: HTMLFormElement): Omit<EndpointInput, 'events'> {
  const data = new FormData(form);
  const limit = readText(data, 'rateLimit.limit');
  const windowSeconds = Number(data.get('rateLimit.windowSeconds')) || DEFAULT_WINDOW_SECONDS;
  return {
    url: readText(data, 'url'),
    description: readText(data, 'description') || null,
    ordered: data.has('ordered'),
    rateLimit: limit === '' ? null : { limit: Number(limit), windowSeconds },
    ...(data.has('signing') && { signing: readText(data, 'signing') }),
    ...(data.has('scope') && { scope: readText(data, 'scope') }),
  };
}

function MainFields({ endpoint, errors }: { endpoint: Endpoint | undefined; errors: Record<string, string> }) {
  return (
    <>
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
      <FormField form="endpoint" name="description" label={texts.form.description} errors={errors}>
        {(control) => (
          <input {...control} name="description" maxlength={500} defaultValue={endpoint?.description ?? ''} />
        )}
      </FormField>
    </>
  );
}

/** The form of a new endpoint, or of the given one. `onSubmit` gets the body of the request. */
export function EndpointForm({
  endpoint,
  includeGlobal = false,
  busy,
  error,
  label,
  onSubmit,
}: {
  endpoint?: Endpoint;
  includeGlobal?: boolean;
  busy: boolean;
  error: RequestError | undefined;
  label: string;
  onSubmit: (values: EndpointInput) => unknown;
}) {
  const [events, setEvents] = useState(endpoint?.events ?? []);
  const form = useRef<HTMLFormElement>(null);
  const { errors, errorOf, message, markChanged } = useFieldErrors(error, FIELDS);
  // Not `useEffect`, which runs after the next paint: a key pressed before then would reach the button.
  useLayoutEffect(() => {
    if (error) form.current?.querySelector<HTMLElement>('[aria-invalid]')?.focus();
  }, [error]);
  const submit = (event: SubmitEvent) => {
    event.preventDefault();
    if (form.current) onSubmit({ ...readValues(form.current), events });
  };
  return (
    <form
      onSubmit={submit}
      onInput={({ target }) => target instanceof HTMLInputElement && markChanged(target.name)}
      ref={form}
      novalidate
    >
      <MainFields endpoint={endpoint} errors={errors} />
      <EventPicker
        chosen={events}
        onChange={(chosen) => {
          setEvents(chosen);
          markChanged('events');
        }}
        error={errorOf('events') && (events.length === 0 ? texts.errors.noEvents : errorOf('events'))}
      />
      <AdvancedFields endpoint={endpoint} includeGlobal={includeGlobal} limitError={errorOf('rateLimit')} />
      <Notice kind="bad">{message}</Notice>
      <div class="row">
        <button type="submit" class="primary" disabled={busy}>
          {busy ? texts.saving : label}
        </button>
      </div>
    </form>
  );
}
