import '../kit/tokens.css';
import '../kit/base.css';
import '../kit/controls.css';
import '../kit/parts.css';
import './portal.css';
import { render } from 'preact';
import '@preact/signals';
import { LanguageSwitch } from '../kit/language-switch.tsx';
import { Loading, Title } from './parts/page.tsx';
import type { PortalLink } from './responses.ts';
import { type Blocked, keepsLink, retrySession, session, startSession } from './session.ts';
import { texts } from './texts.ts';
import { EndpointView } from './views/endpoint.tsx';
import { EndpointList } from './views/list.tsx';
import { NewEndpoint } from './views/new-endpoint.tsx';
import { applyTheme, getElement, place, reportHeight } from './window.ts';

function Unavailable({ reason }: { reason: Blocked }) {
  const { title, text } = texts.blocked[reason];
  return (
    <div class="blank">
      <Title focus={reason === 'expired'}>{title}</Title>
      <p>{text}</p>
      {reason === 'failed' && (
        <button type="button" class="primary" onClick={retrySession}>
          {texts.tryAgain}
        </button>
      )}
    </div>
  );
}

/** Says whose webhooks the page shows, for people who manage several organisations. */
function Organisation({ of }: { of: NonNullable<PortalLink['organisation']> }) {
  return (
    <p class="soft">
      {of.name} <code>{of.as}</code>
    </p>
  );
}

/** The view that the address names, as far as the link allows it. */
function View({ link }: { link: PortalLink }) {
  const [first, section] = place.value;
  const only = link.endpointId;
  if (only !== null)
    return <EndpointView key={only} id={only} section={first === only ? section : undefined} link={link} />;
  if (first === undefined) return <EndpointList maxEndpoints={link.maxEndpoints} />;
  if (first === 'new') return <NewEndpoint link={link} />;
  return <EndpointView key={first} id={first} section={section} link={link} />;
}

function App() {
  const current = session.value;
  if (current.kind === 'ready')
    return (
      <>
        {current.link.organisation !== null && <Organisation of={current.link.organisation} />}
        <View link={current.link} />
      </>
    );
  if (current.kind !== 'loading') return <Unavailable reason={current.kind} key={current.kind} />;
  return <Loading />;
}

applyTheme();
startSession();
render(<App />, getElement('app'));
if (keepsLink()) render(<LanguageSwitch />, getElement('footer'));
reportHeight();
