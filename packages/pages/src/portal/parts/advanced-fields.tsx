import { useLayoutEffect, useRef } from 'preact/hooks';
import { FormField } from '../../kit/form-field.tsx';
import { HeaderEditor, type HeaderRows } from '../../kit/header-editor.tsx';
import { type EndpointRoles, RoleField } from '../../kit/role-field.tsx';
import type { Endpoint } from '../responses.ts';
import { texts } from '../texts.ts';

export const DEFAULT_WINDOW_SECONDS = 1;

/** What cannot be changed once the endpoint exists. */
function KindFields({ includeGlobal }: { includeGlobal: boolean }) {
  return (
    <>
      <FormField form="endpoint" name="signing" label={texts.form.signing} errors={{}}>
        {(control) => (
          <select {...control} name="signing">
            <option value="v1">{texts.form.v1}</option>
            <option value="v1a">{texts.form.v1a}</option>
          </select>
        )}
      </FormField>
      {includeGlobal && (
        <FormField form="endpoint" name="scope" label={texts.form.scope} errors={{}}>
          {(control) => (
            <select {...control} name="scope">
              <option value="own">{texts.form.own}</option>
              <option value="global">{texts.form.global}</option>
            </select>
          )}
        </FormField>
      )}
    </>
  );
}

/** The fields that most endpoints leave as they are. */
export function AdvancedFields({
  endpoint,
  isPolled,
  includeGlobal,
  roles,
  limitError,
  headers,
  errors,
  onHeadersChange,
}: {
  endpoint: Endpoint | undefined;
  isPolled: boolean;
  includeGlobal: boolean;
  /** Those that the link may give to endpoints of an organisation; undefined: the endpoint belongs to a user. */
  roles: EndpointRoles | undefined;
  limitError: string | undefined;
  headers: HeaderRows;
  errors: Readonly<Record<string, string>>;
  onHeadersChange: () => void;
}) {
  const hasError = limitError !== undefined || Object.keys(errors).some((name) => /^headers(\.|$)/.test(name));
  const element = useRef<HTMLDetailsElement>(null);
  // Stays open when the error is gone.
  useLayoutEffect(() => {
    if (hasError && element.current) element.current.open = true;
  }, [hasError]);
  // A polled endpoint that exists has only its role to change here.
  if (isPolled && endpoint !== undefined && roles === undefined) return undefined;
  return (
    <details class="advanced" ref={element}>
      <summary>{texts.form.advanced}</summary>
      {!isPolled && (
        <>
          <PaceFields endpoint={endpoint} limitError={limitError} />
          <HeaderEditor form="endpoint" headers={headers} errors={errors} onChange={onHeadersChange} />
        </>
      )}
      {roles && <RoleField form="endpoint" roles={roles} value={endpoint?.as} />}
      {endpoint === undefined && <KindFields includeGlobal={includeGlobal} />}
    </details>
  );
}

/** In which order and how fast messages are sent. */
function PaceFields({ endpoint, limitError }: { endpoint: Endpoint | undefined; limitError: string | undefined }) {
  const { limit, windowSeconds } = endpoint?.rateLimit ?? {};
  return (
    <>
      <label class="check">
        <input type="checkbox" name="ordered" defaultChecked={endpoint?.ordered ?? false} />
        <span>
          {texts.form.ordered}
          <br />
          <span class="soft">{texts.form.orderedHint}</span>
        </span>
      </label>
      <FormField
        form="endpoint"
        name="limit"
        label={texts.form.limit}
        hint={texts.form.limitHint}
        errors={limitError === undefined ? {} : { limit: limitError }}
      >
        {(control) => (
          <div class="row">
            <input {...control} name="rateLimit.limit" type="number" min="1" max="10000" defaultValue={limit ?? ''} />
            <label class="inline">
              {texts.form.in}{' '}
              <input
                name="rateLimit.windowSeconds"
                type="number"
                min="1"
                max="3600"
                defaultValue={windowSeconds ?? DEFAULT_WINDOW_SECONDS}
              />{' '}
              {texts.form.seconds}
            </label>
          </div>
        )}
      </FormField>
    </>
  );
}
