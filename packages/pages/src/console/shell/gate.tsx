import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { clockText } from '../../kit/format.tsx';
import { showToast } from '../../kit/toasts.tsx';
import { brand } from '../brand.ts';
import { type Outage, outages, type Part } from '../outage.ts';
import { OVERVIEW } from '../overview/tab.tsx';
import { texts } from '../texts.ts';

/** Since when a part cannot be reached. */
function outageText({ part, since, isExact }: Outage): string {
  const time = clockText(since);
  const { name } = texts.shell.outages[part];
  return isExact ? texts.shell.unreachableSince(name, time) : texts.shell.unreachableAtLeastSince(name, time);
}

/** What the page shows instead of the content of the console. */
export function Gate({ title, children }: { title: string; children: ComponentChildren }) {
  return (
    <main class="gate" id="main">
      <h1 tabindex={-1}>{title}</h1>
      {children}
    </main>
  );
}

export function Loading() {
  return (
    <main class="gate" id="main" aria-busy="true">
      <p class="soft">{texts.shell.loading}</p>
    </main>
  );
}

/** What is shown while the app cannot say whether the user may open the console. The address stays, and with it what is shown later. */
export function Unreachable({ outage }: { outage: Outage }) {
  return (
    <main class="gate" id="main" aria-busy="true">
      <img src={brand.logo} alt="" height={36} />
      <h1 tabindex={-1}>{outageText(outage)}</h1>
      <p role="status">{texts.shell.outages[outage.part].page}</p>
    </main>
  );
}

/** Says within the console what cannot be reached, and what that means. */
export function OutageBanner() {
  const [outage] = outages.value;
  const before = useRef<Part>(undefined);
  useEffect(() => {
    if (before.current !== undefined && outage === undefined)
      showToast(texts.shell.isBack(texts.shell.outages[before.current].name));
    before.current = outage?.part;
  }, [outage?.part]);
  return (
    <div class="outage" role="status">
      {outage && (
        <p class={`banner ${outage.part === 'redis' ? 'warn' : 'bad'}`}>
          <span>
            <b>{outageText(outage)}</b> {texts.shell.outages[outage.part].banner}
          </span>
        </p>
      )}
    </div>
  );
}

export function Failed({ error, onRetry }: { error: { message: string }; onRetry: () => void }) {
  return (
    <Gate title={texts.shell.failed}>
      <p>{error.message}</p>
      <button type="button" class="primary" onClick={onRetry}>
        {texts.components.tryAgain}
      </button>
    </Gate>
  );
}

export function Updated() {
  return (
    <Gate title={texts.shell.updated}>
      <p>{texts.shell.reloadToContinue}</p>
      <button type="button" class="primary" onClick={() => location.reload()}>
        {texts.shell.reload}
      </button>
    </Gate>
  );
}

export function NotFound() {
  return (
    <Gate title={texts.shell.notFound}>
      <p>
        <a href={OVERVIEW}>{texts.shell.toOverview}</a>
      </p>
    </Gate>
  );
}
