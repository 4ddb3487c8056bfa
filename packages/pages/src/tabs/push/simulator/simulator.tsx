import { Loaded, Nothing, Page, Section, useLoaded } from '../../../console/kit.ts';
import type { Simulator } from '../responses.ts';
import { texts } from '../texts.ts';
import { AddForm } from './add-form.tsx';
import { Phone } from './phone.tsx';
import { SendForm } from './send-form.tsx';

/** The interval in ms at which the devices are read, because other processes send pushes, too. */
const READ_EVERY_MS = 1000;

/** Phones and browsers that show push messages without leaving this machine. */
export function SimulatorPage() {
  const loaded = useLoaded<Simulator>('/push/simulator', { everyMs: READ_EVERY_MS });
  const { reload } = loaded;
  return (
    <Page title={texts.title} intro={texts.simulator.intro}>
      <Loaded from={loaded}>
        {({ devices, hasUsers }) => (
          <>
            <div class="push-forms">
              <AddForm hasUsers={hasUsers} onDone={reload} />
              <SendForm devices={devices} onDone={reload} />
            </div>
            <Section title={texts.simulator.devices}>
              {devices.length === 0 ? (
                <Nothing title={texts.simulator.none}>
                  <p>{texts.simulator.noneText}</p>
                </Nothing>
              ) : (
                <div class="push-phones">
                  {devices.map((device) => (
                    <Phone key={device.id} device={device} onChange={reload} />
                  ))}
                </div>
              )}
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  );
}
