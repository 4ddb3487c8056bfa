import { useState } from 'preact/hooks';
import { useLoaded } from '../../console/kit.ts';
import type { Endpoint, ListedEndpoint } from './responses.ts';
import { texts } from './texts.ts';

/** The id of a record. */
export const ID = /^[0-9a-f]{24}$/;

/** The URL without its scheme; for a polled endpoint, its description or id. */
const describeEndpoint = ({ id, url, description }: Pick<Endpoint, 'id' | 'url' | 'description'>) =>
  url === null ? `${texts.polled}: ${description ?? id}` : url.replace(/^https?:\/\//, '');

/**
 * Chooses an endpoint by a part of its URL, or by its id.
 *
 * @param props `onChange` gets every text that is typed; `isCompact`: does not show the id of the chosen endpoint
 */
export function EndpointChoice({
  value,
  onChange,
  isCompact = false,
}: {
  value: string;
  onChange: (text: string) => void;
  isCompact?: boolean;
}) {
  const [text, setText] = useState(value);
  const isId = ID.test(text);
  const { data: found = [] } = useLoaded<ListedEndpoint[]>(
    `/webhooks/endpoints?${new URLSearchParams({ limit: '50', ...(isId ? {} : { q: text.slice(0, 200) }) })}`,
  );
  const { data: endpoint } = useLoaded<Endpoint>(isId ? `/webhooks/endpoints/${text}` : undefined);
  const shown = endpoint === undefined ? text : describeEndpoint(endpoint);
  return (
    <div class="form-field">
      <label for="webhooks-endpoint">{texts.endpoint}</label>
      <input
        id="webhooks-endpoint"
        list="webhooks-endpoints"
        spellcheck={false}
        autocomplete="off"
        placeholder={texts.form.choosePlaceholder}
        value={shown}
        onInput={(event) => {
          const typed = event.currentTarget.value.trim();
          setText(typed);
          onChange(typed);
        }}
      />
      <datalist id="webhooks-endpoints">
        {found.map((one) => (
          <option key={one.id} value={one.id}>
            {describeEndpoint(one)}
          </option>
        ))}
      </datalist>
      {!isCompact && <p class="soft webhooks-note">{endpoint ? <code>{text}</code> : texts.form.chooseHint}</p>}
    </div>
  );
}
