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
import { texts } from './texts.ts';
import { useSubmit } from './use-submit.ts';

/** The interval in ms at which the device and its pushes are read. */
const READ_EVERY_MS = 1500;

/** A form that sends a test to the device. */
function TestForm({ path, onSent }: { path: string; onSent: () => Promise<void> }) {
  const [title, setTitle] = useState(texts.devicePage.testTitle);
  const [body, setBody] = useState(texts.devicePage.testBody);
  const { message, errors, isRunning, props } = useSubmit(async () => {
    const { data } = await call<SendResult>(`${path}/test`, {
      method: 'POST',
      body: { title, body: body || undefined },
    });
    const error = data.results[0]?.error;
    showToast(texts.devicePage.tested(error ?? texts.devicePage.results[data.status]), {
      kind: error === undefined ? 'done' : 'error',
    });
    await onSent();
  });
  return (
    <form class="push-form" aria-label={texts.devicePage.test} {...props}>
      {message && (
        <p class="banner bad" role="alert">
          {message}
        </p>
      )}
      <FormField form="test" name="title" label={texts.messageTitle} errors={errors}>
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
      <FormField form="test" name="body" label={texts.messageBody} errors={errors}>
        {(control) => (
          <input {...control} maxlength={2000} value={body} onInput={(event) => setBody(event.currentTarget.value)} />
        )}
      </FormField>
      <button type="submit" disabled={isRunning}>
        {texts.devicePage.test}
      </button>
    </form>
  );
}

function DeviceFacts({ device }: { device: DeviceDetails }) {
  const own = texts.devicePage;
  const platform = PLATFORMS[device.platform];
  return (
    <Facts
      of={[
        [texts.user, <UserLink id={device.user} />],
        [texts.platform, device.isSimulated ? own.simulated(platform) : platform],
        [own.appVersion, device.appVersion],
        [own.locale, device.locale],
        [own.token, <code>{device.token}</code>],
        [own.registered, <Time value={device.createdAt} />],
        [own.lastSeen, <Time value={device.lastSeenAt} />],
        [own.id, <code>{device.id}</code>],
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
  const name = data === undefined ? texts.device : (data.name ?? PLATFORMS[data.platform]);
  const question = {
    title: texts.devicePage.question(name),
    text: texts.devicePage.questionText,
    action: texts.remove,
    isDangerous: true,
  };
  return (
    <Page
      title={name}
      back={{ href: `${PUSH}/devices`, label: texts.devices }}
      intro={data && <DeviceState state={data.state} />}
      actions={
        data && (
          <ActionButton kind="danger quiet" run={remove} confirm={question} done={texts.devicePage.removed}>
            {texts.remove}
          </ActionButton>
        )
      }
    >
      <Loaded from={loaded}>
        {(device) => (
          <>
            <DeviceFacts device={device} />
            {device.state === 'expired' && <p class="banner warn push-note">{texts.devicePage.expired}</p>}
            <Section title={texts.devicePage.test}>
              <TestForm path={path} onSent={loaded.reload} />
            </Section>
            <Section title={texts.devicePage.pushes}>
              {device.pushes.length === 0 ? (
                <p class="soft">{texts.devicePage.noPushes}</p>
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
