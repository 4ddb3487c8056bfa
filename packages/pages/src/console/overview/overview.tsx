import { useEffect, useRef } from 'preact/hooks';
import { Time } from '../../kit/format.tsx';
import { Nothing } from '../../kit/parts.tsx';
import { useLoaded } from '../components/loading.tsx';
import { Page } from '../components/page-parts.tsx';
import { FirstDeclaration } from '../data/no-resources.tsx';
import { app, userResource } from '../data/schema.ts';
import { texts } from '../texts.ts';
import { Concerns } from './concerns.tsx';
import { ResourceCard } from './resource-card.tsx';
import type { Overview, SignIn } from './types.ts';

/** The interval in ms at which the page is read while it is visible. */
const READ_EVERY_MS = 60_000;

/** Reads the overview, at an interval and as soon as the browser tab becomes visible again. */
function useOverview() {
  const overview = useLoaded<Overview>('/overview', { everyMs: READ_EVERY_MS });
  const latest = useRef(overview.reload);
  latest.current = overview.reload;
  useEffect(() => {
    const readAgain = () => {
      if (!document.hidden) latest.current();
    };
    document.addEventListener('visibilitychange', readAgain);
    return () => document.removeEventListener('visibilitychange', readAgain);
  }, []);
  return overview;
}

function SignIns({ signIns }: { signIns: readonly SignIn[] | null }) {
  return (
    <section class="card sign-ins" aria-labelledby="sign-ins-title">
      <h2 id="sign-ins-title">{texts.overview.signIns}</h2>
      {signIns === null && <p class="soft">{texts.overview.signInsUnread}</p>}
      {signIns?.length === 0 && <p class="soft">{texts.overview.noSignIns}</p>}
      {signIns !== null && signIns.length > 0 && (
        <ul class="newest">
          {signIns.map(({ user: { id, label }, at }) => (
            <li key={id + at}>
              <a href={`/console/accounts/users/${id}`} title={label}>
                {label}
              </a>
              <span class="soft">
                <Time value={at} isShort={true} />
              </span>
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

/** The first page of the console: whether everything works, and what is new. */
export function OverviewPage() {
  const { data, error, reload } = useOverview();
  const { resources, features, name, mode } = app.value;
  const states = new Map(data?.resources.map((state) => [state.name, state]));
  const isEmpty = resources.every(({ name: each }) => each === userResource()?.name);
  return (
    <Page title={texts.overview.title} intro={mode === 'production' ? name : texts.overview.inDevelopment(name)}>
      <div class="overview">
        {error && (
          <p class="banner bad" role="alert">
            <span>{error.message}</span>
            <button type="button" onClick={reload}>
              {texts.components.tryAgain}
            </button>
          </p>
        )}
        {data ? (
          <Concerns {...data} />
        ) : (
          !error && <div class="card everything-works bone-card" aria-hidden="true"></div>
        )}
        {isEmpty && (
          <Nothing title={texts.data.noResources.title}>
            <FirstDeclaration />
          </Nothing>
        )}
        <h2 class="visually-hidden">{texts.overview.records}</h2>
        <div class={`overview-columns ${features.audit ? 'with-sign-ins' : ''}`}>
          <ul class="resource-cards">
            {resources.map((resource) => (
              <ResourceCard
                key={resource.name}
                resource={resource}
                state={
                  error && !data ? { name: resource.name, records: null, newest: null } : states.get(resource.name)
                }
              />
            ))}
          </ul>
          {data?.signIns !== undefined && <SignIns signIns={data.signIns} />}
        </div>
      </div>
    </Page>
  );
}
