import { useLayoutEffect, useRef } from 'preact/hooks';
import { FormField } from '../../kit/form-field.tsx';
import type { Endpoint } from '../responses.ts';

export const DEFAULT_WINDOW_SECONDS = 1;

/** What cannot be changed once the endpoint exists. */
function KindFields({ includeGlobal }: { includeGlobal: boolean }) {
  return (
    <>
      <FormField form="endpoint" name="signing" label="Signature" errors={{}}>
        {(control) => (
          <select {...control} name="signing">
            <option value="v1">With a shared secret</option>
            <option value="v1a">With a shared secret and a public key</option>
          </select>
        )}
      </FormField>
      {includeGlobal && (
        <FormField form="endpoint" name="scope" label="Records" errors={{}}>
          {(control) => (
            <select {...control} name="scope">
              <option value="own">Records that you may read</option>
              <option value="global">Records of all users</option>
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
  includeGlobal,
  limitError,
}: {
  endpoint: Endpoint | undefined;
  includeGlobal: boolean;
  limitError: string | undefined;
}) {
  const { limit, windowSeconds } = endpoint?.rateLimit ?? {};
  const element = useRef<HTMLDetailsElement>(null);
  // Stays open when the error is gone.
  useLayoutEffect(() => {
    if (limitError && element.current) element.current.open = true;
  }, [limitError]);
  return (
    <details class="advanced" ref={element}>
      <summary>Advanced</summary>
      <label class="check">
        <input type="checkbox" name="ordered" defaultChecked={endpoint?.ordered ?? false} />
        <span>
          Deliver in order
          <br />
          <span class="soft">One request at a time. A failing delivery holds up all later ones.</span>
        </span>
      </label>
      <FormField
        form="endpoint"
        name="limit"
        label="Maximum number of requests"
        hint="Empty: no limit."
        errors={limitError === undefined ? {} : { limit: limitError }}
      >
        {(control) => (
          <div class="row">
            <input {...control} name="rateLimit.limit" type="number" min="1" max="10000" defaultValue={limit ?? ''} />
            <label class="inline">
              in{' '}
              <input
                name="rateLimit.windowSeconds"
                type="number"
                min="1"
                max="3600"
                defaultValue={windowSeconds ?? DEFAULT_WINDOW_SECONDS}
              />{' '}
              seconds
            </label>
          </div>
        )}
      </FormField>
      {endpoint === undefined && <KindFields includeGlobal={includeGlobal} />}
    </details>
  );
}
