import { FormField } from '../../console/kit.ts';
import type { Endpoint } from './responses.ts';
import { texts } from './texts.ts';

/** The errors of a form, by the name of the field. */
type Errors = Readonly<Record<string, string>>;

/** Whether an endpoint is sent its messages or polls for them. */
export function DeliveryField({ isPolled, onChange }: { isPolled: boolean; onChange: (isPolled: boolean) => void }) {
  return (
    <FormField form="webhooks" name="delivery" label={texts.form.delivery} errors={{}}>
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

interface AddressProps {
  endpoint: Endpoint | undefined;
  errors: Errors;
  isPolled: boolean;
}

/** The URL and the description. */
export function AddressFields({ endpoint, errors, isPolled }: AddressProps) {
  return (
    <>
      {!isPolled && (
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
      )}
      <FormField form="webhooks" name="description" label={texts.form.description} errors={errors}>
        {(control) => (
          <input {...control} name="description" maxlength={500} defaultValue={endpoint?.description ?? ''} />
        )}
      </FormField>
    </>
  );
}

/** The fields that only a new endpoint has. */
export function KindFields({ errors, hasScope }: { errors: Errors; hasScope: boolean }) {
  return (
    <div class="webhooks-pair">
      {hasScope && (
        <FormField form="webhooks" name="scope" label={texts.records} errors={errors}>
          {(control) => (
            <select {...control} name="scope">
              <option value="own">{texts.form.own}</option>
              <option value="global">{texts.form.global}</option>
            </select>
          )}
        </FormField>
      )}
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

/** The order and the rate of the deliveries. */
export function PaceFields({ endpoint, error }: { endpoint: Endpoint | undefined; error: string | undefined }) {
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
