import { useState } from 'preact/hooks';
import { ConfirmButton } from '../../kit/confirm-button.tsx';
import { EndpointForm } from '../parts/endpoint-form.tsx';
import { Notice } from '../parts/page.tsx';
import { useAction } from '../parts/requests.ts';
import type { Endpoint, EndpointInput, EndpointWithSecret, PortalLink } from '../responses.ts';
import { send } from '../session.ts';
import { texts } from '../texts.ts';
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
      <h2>{texts.settings.secret}</h2>
      <p class="soft">{graceHours > 0 ? texts.settings.grace(graceHours) : texts.settings.noGrace}</p>
      <Notice kind="bad">{error?.message}</Notice>
      <ConfirmButton
        label={texts.settings.rotate}
        question={texts.settings.rotateQuestion}
        confirm={texts.settings.rotateConfirm}
        busy={busy}
        onConfirm={rotate}
      />
    </>
  );
}

function StatePart({ endpoint: { id, enabled }, onChange }: PartProps) {
  const { busy, error, run } = useAction();
  const disable = () => run(async () => onChange(await update(id, { enabled: false }), texts.settings.disabled));
  const enable = () => run(async () => onChange(await update(id, { enabled: true }), texts.settings.enabled));
  const remove = () =>
    run(async () => {
      await send(`/${id}`, { method: 'DELETE' });
      goTo();
    });
  return (
    <>
      <h2>{texts.settings.endpoint}</h2>
      <Notice kind="bad">{error?.message}</Notice>
      <div class="row wrap">
        {enabled ? (
          <ConfirmButton
            key="disable"
            label={texts.settings.disable}
            question={texts.settings.disableQuestion}
            confirm={texts.settings.disable}
            busy={busy}
            onConfirm={disable}
          />
        ) : (
          <button key="enable" type="button" disabled={busy} onClick={enable}>
            {texts.settings.enable}
          </button>
        )}
        <ConfirmButton
          key="delete"
          label={texts.settings.delete}
          kind="danger"
          question={texts.settings.deleteQuestion}
          confirm={texts.settings.delete}
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
  link,
  onChange,
}: {
  endpoint: Endpoint;
  link: PortalLink;
  onChange: (endpoint: Endpoint) => void;
}) {
  const [saved, setSaved] = useState('');
  const [saves, setSaves] = useState(0);
  const { busy, error, run } = useAction();
  const onPartChange = (changed: Endpoint, text: string) => {
    onChange(changed);
    setSaved(text);
  };
  const save = (values: EndpointInput) =>
    run(async () => {
      setSaved('');
      onPartChange(await update(endpoint.id, values), texts.settings.saved);
      setSaves((count) => count + 1);
    });
  return (
    <>
      <Notice kind="good">{saved}</Notice>
      <EndpointForm
        // Shows what is stored after a save. Other changes of the endpoint keep what is typed.
        key={saves}
        endpoint={endpoint}
        roles={link.organisation?.roles}
        label={texts.form.save}
        busy={busy}
        error={error}
        onSubmit={save}
      />
      <section class="actions">
        <SecretPart endpoint={endpoint} graceHours={link.secretGraceHours} onChange={onPartChange} />
        <StatePart endpoint={endpoint} onChange={onPartChange} />
      </section>
    </>
  );
}
