import { useState } from 'preact/hooks';
import { ConfirmButton } from '../../kit/confirm-button.tsx';
import { EndpointForm } from '../parts/endpoint-form.tsx';
import { Notice } from '../parts/page.tsx';
import { useAction } from '../parts/requests.ts';
import type { Endpoint, EndpointInput, EndpointWithSecret } from '../responses.ts';
import { send } from '../session.ts';
import { goTo } from '../window.ts';
import { addSecret } from './secret.tsx';

const update = async (id: string, body: EndpointInput | { enabled: boolean }) =>
  (await send<Endpoint>(`/${id}`, { method: 'PATCH', body })).data;

interface PartProps {
  endpoint: Endpoint;
  /** `text`: says what has changed. */
  onChange: (endpoint: Endpoint, text: string) => void;
}

function SecretPart({ endpoint: { id }, graceHours, onChange }: PartProps & { graceHours: number }) {
  const { busy, error, run } = useAction();
  const rotate = () =>
    run(async () => {
      const { data } = await send<EndpointWithSecret>(`/${id}/rotate-secret`, { method: 'POST', body: {} });
      const { secret, ...rest } = data;
      addSecret(id, secret);
      onChange(rest, '');
    });
  return (
    <>
      <h2>Secret</h2>
      <p class="soft">
        {graceHours > 0
          ? `After a rotation, messages carry the signatures of both secrets for ${graceHours} hours, so that you can switch in between.`
          : 'After a rotation, the old secret stops working at once.'}
      </p>
      <Notice kind="bad">{error?.message}</Notice>
      <ConfirmButton
        label="Rotate the secret"
        question="Create a new secret? You see it once."
        confirm="Rotate"
        busy={busy}
        onConfirm={rotate}
      />
    </>
  );
}

function StatePart({ endpoint: { id, enabled }, onChange }: PartProps) {
  const { busy, error, run } = useAction();
  const disable = () => run(async () => onChange(await update(id, { enabled: false }), 'The endpoint is disabled.'));
  const enable = () => run(async () => onChange(await update(id, { enabled: true }), 'The endpoint is enabled.'));
  const remove = () =>
    run(async () => {
      await send(`/${id}`, { method: 'DELETE' });
      goTo();
    });
  return (
    <>
      <h2>Endpoint</h2>
      <Notice kind="bad">{error?.message}</Notice>
      <div class="row wrap">
        {enabled ? (
          <ConfirmButton
            key="disable"
            label="Disable"
            question="Stop sending events to this endpoint? Deliveries that wait are kept for some days."
            confirm="Disable"
            busy={busy}
            onConfirm={disable}
          />
        ) : (
          <button key="enable" type="button" disabled={busy} onClick={enable}>
            Enable
          </button>
        )}
        <ConfirmButton
          key="delete"
          label="Delete"
          kind="danger"
          question="Delete this endpoint and its log? This cannot be undone."
          confirm="Delete"
          busy={busy}
          onConfirm={remove}
        />
      </div>
    </>
  );
}

/** Changes, disables and deletes an endpoint, and rotates its secret. */
export function Settings({
  endpoint,
  graceHours,
  onChange,
}: {
  endpoint: Endpoint;
  graceHours: number;
  onChange: (endpoint: Endpoint) => void;
}) {
  const [saved, setSaved] = useState('');
  const { busy, error, run } = useAction();
  const onPartChange = (changed: Endpoint, text: string) => {
    onChange(changed);
    setSaved(text);
  };
  const save = (values: EndpointInput) =>
    run(async () => {
      setSaved('');
      onPartChange(await update(endpoint.id, values), 'The changes are saved.');
    });
  return (
    <>
      <Notice kind="good">{saved}</Notice>
      <EndpointForm
        key={endpoint.updatedAt}
        endpoint={endpoint}
        label="Save changes"
        busy={busy}
        error={error}
        onSubmit={save}
      />
      <section class="actions">
        <SecretPart endpoint={endpoint} graceHours={graceHours} onChange={onPartChange} />
        <StatePart endpoint={endpoint} onChange={onPartChange} />
      </section>
    </>
  );
}
