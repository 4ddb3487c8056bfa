import { useState } from 'preact/hooks';
import {
  ActionButton,
  call,
  Facts,
  FormField,
  Loaded,
  navigate,
  Page,
  Section,
  showToast,
  Time,
  useLoaded,
} from '../../console/kit.ts';
import { DeviceState } from './devices.tsx';
import { PLATFORMS, PUSH, UserLink } from './outcome.tsx';
import type { DeviceDetails, SendResult } from './responses.ts';
import { PushResults } from './results.tsx';
import { useSubmit } from './use-submit.ts';

/** The interval in ms at which the device and its pushes are read. */
const READ_EVERY_MS = 1500;

/** A form that sends a test to the device. */
function TestForm({ path, onSent }: { path: string; onSent: () => Promise<void> }) {
  const [title, setTitle] = useState('Test');
  const [body, setBody] = useState('This is a test from the console.');
  const { message, errors, isRunning, props } = useSubmit(async () => {
    const { data } = await call<SendResult>(`${path}/test`, {
      method: 'POST',
      body: { title, body: body || undefined },
    });
    const error = data.results[0]?.error;
    showToast(`Test: ${error ?? data.status}`, { kind: error === undefined ? 'done' : 'error' });
    await onSent();
  });
  return (
    <form class="push-form" aria-label="Send a test" {...props}>
      {message && (
        <p class="banner bad" role="alert">
          {message}
        </p>
      )}
      <FormField form="test" name="title" label="Title" errors={errors}>
        {(control) => (
          <input
            {...control}
            required
            maxlength={250}
            value={title}
            onInput={(event) => setTitle(event.currentTarget.value)}
          />
        )}
      </FormField>
      <FormField form="test" name="body" label="Body" errors={errors}>
        {(control) => (
          <input {...control} maxlength={2000} value={body} onInput={(event) => setBody(event.currentTarget.value)} />
        )}
      </FormField>
      <button type="submit" disabled={isRunning}>
        Send a test
      </button>
    </form>
  );
}

function DeviceFacts({ device }: { device: DeviceDetails }) {
  return (
    <Facts
      of={[
        ['User', <UserLink id={device.user} />],
        ['Platform', `${PLATFORMS[device.platform]}${device.isSimulated ? ', simulated' : ''}`],
        ['App version', device.appVersion],
        ['Locale', device.locale],
        ['Token', <code>{device.token}</code>],
        ['Registered', <Time value={device.createdAt} />],
        ['Last seen', <Time value={device.lastSeenAt} />],
        ['Id', <code>{device.id}</code>],
      ]}
    />
  );
}

/** One device with its newest pushes. It can be tested and removed. */
export function DevicePage({ id }: { id: string }) {
  const path = `/push/devices/${encodeURIComponent(id)}`;
  const [isRemoved, setRemoved] = useState(false);
  const loaded = useLoaded<DeviceDetails>(path, isRemoved ? {} : { everyMs: READ_EVERY_MS });
  const { data } = loaded;
  const remove = async () => {
    setRemoved(true);
    try {
      await call(path, { method: 'DELETE' });
    } catch (error) {
      setRemoved(false);
      throw error;
    }
    await navigate(`${PUSH}/devices`);
  };
  const name = data && (data.name ?? PLATFORMS[data.platform]);
  const question = {
    title: `Remove “${name}”?`,
    text: 'It receives no further messages until the app registers it again, which most apps do when they are opened.',
    action: 'Remove',
    isDangerous: true,
  };
  return (
    <Page
      title={name ?? 'Device'}
      back={{ href: `${PUSH}/devices`, label: 'Devices' }}
      intro={data && <DeviceState state={data.state} />}
      actions={
        data && (
          <ActionButton kind="danger quiet" run={remove} confirm={question} done="Removed">
            Remove
          </ActionButton>
        )
      }
    >
      <Loaded from={loaded}>
        {(device) => (
          <>
            <DeviceFacts device={device} />
            {device.state === 'expired' && (
              <p class="banner warn push-note">
                The session of this device has expired. The next push removes the device instead of reaching it.
              </p>
            )}
            <Section title="Send a test">
              <TestForm path={path} onSent={loaded.reload} />
            </Section>
            <Section title="Newest pushes">
              {device.pushes.length === 0 ? (
                <p class="soft">No push has been sent to this device in the last 30 days.</p>
              ) : (
                <PushResults pushes={device.pushes} />
              )}
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
