import '../kit/tokens.css';
import '../kit/base.css';
import '../kit/controls.css';
import '../kit/parts.css';
import '../kit/overlays.css';
import '../kit/frame.css';
import './styles/menus.css';
import './styles/shell.css';
import './styles/list.css';
import './styles/table.css';
import './styles/record.css';
import './styles/editors.css';
import './styles/tabs.css';
import './styles/overview.css';
import './kit.ts';
import { render } from 'preact';
import { useEffect, useErrorBoundary, useState } from 'preact/hooks';
import { Dialogs } from '../kit/dialog.tsx';
import { toRequestError } from '../kit/request.ts';
import { Toasts } from '../kit/toasts.tsx';
import { type Blocked, blocked, call, onRecentSignInRequired } from './api.ts';
import { consoleName } from './brand.ts';
import type { AppInfo, TabFiles } from './data/app-info.ts';
import { loadedApp } from './data/schema.ts';
import { outages, recoveries, watchHealth } from './outage.ts';
import { OVERVIEW } from './overview/tab.tsx';
import { navigate, place, startRouter } from './router.ts';
import { findPage, loadTab, UpdatedError } from './shell/find-page.ts';
import { Failed, Loading, NotFound, OutageBanner, Unreachable, Updated } from './shell/gate.tsx';
import { Header } from './shell/header.tsx';
import { confirmIdentity, SignIn } from './shell/sign-in.tsx';
import { texts } from './texts.ts';

async function loadApp() {
  blocked.value = { kind: 'loading' };
  try {
    const { data } = await call<AppInfo>('/app');
    // The tabs of another version would not work with the modules of this one.
    if (data.script !== new URL(import.meta.url).pathname) {
      blocked.value = { kind: 'updated' };
      return;
    }
    loadedApp.value = data;
    document.title = consoleName(data.name);
    blocked.value = undefined;
  } catch (thrown) {
    const error = toRequestError(thrown);
    if (error.status === 401 && error.code !== undefined) blocked.value = { kind: 'signedOut' };
    else if (error.status === 403 && error.code !== undefined) blocked.value = { kind: 'forbidden' };
    else blocked.value = { kind: 'failed', error };
  }
}

function BlockedPage({ reason }: { reason: Blocked }) {
  const [outage] = outages.value;
  // The console opens without Redis.
  if (reason.kind === 'loading')
    return outage && outage.part !== 'redis' ? <Unreachable outage={outage} /> : <Loading />;
  if (reason.kind === 'updated') return <Updated />;
  if (reason.kind === 'failed') return <Failed error={reason.error} onRetry={loadApp} />;
  return <SignIn kind={reason.kind} onDone={loadApp} />;
}

/** Loads a tab, and says if that fails. */
function TabLoader({ id, files }: { id: string; files: TabFiles }) {
  const [error, setError] = useState<Error>();
  const load = () => {
    setError(undefined);
    loadTab(id, files).catch(setError);
  };
  useEffect(load, [id]);
  useEffect(() => {
    if (error !== undefined) load();
  }, [recoveries.value]);
  if (error === undefined) return <Loading />;
  return error instanceof UpdatedError ? <Updated /> : <Failed error={error} onRetry={load} />;
}

function Content({ path }: { path: string }) {
  const found = findPage(path);
  if (found.kind === 'notLoaded') return <TabLoader key={found.link.id} id={found.link.id} files={found.files} />;
  if (found.kind === 'none') return <NotFound />;
  const { Layout, Page, params } = found;
  return (
    <Layout>
      <Page key={path} {...params} />
    </Layout>
  );
}

function Application() {
  const [error, reset] = useErrorBoundary();
  const { path } = place.value;
  useEffect(() => {
    if (error !== undefined) reset();
  }, [path]);
  if (blocked.value !== undefined) return <BlockedPage reason={blocked.value} />;
  return (
    <>
      <a class="skip" href="#main">
        {texts.shell.skip}
      </a>
      <Header />
      <OutageBanner />
      {error === undefined ? <Content path={path} /> : <Failed error={toRequestError(error)} onRetry={loadApp} />}
    </>
  );
}

// The browser may show this page again as it was, after the user has signed out.
addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
onRecentSignInRequired(confirmIdentity);
startRouter((path) => {
  const found = findPage(path);
  return found.kind !== 'none' || found.isOfTab;
});
if (location.pathname === '/console') navigate(OVERVIEW, { replace: true });
const root = document.getElementById('app');
if (root !== null)
  render(
    <>
      <Application />
      <Dialogs />
      <Toasts />
    </>,
    root,
  );
watchHealth();
loadApp();
