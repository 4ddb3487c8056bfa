import type { ComponentChildren } from 'preact';

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
      <p class="soft">Loading…</p>
    </main>
  );
}

export function Failed({ error, onRetry }: { error: { message: string }; onRetry: () => void }) {
  return (
    <Gate title="This page cannot be shown">
      <p>{error.message}</p>
      <button type="button" class="primary" onClick={onRetry}>
        Try again
      </button>
    </Gate>
  );
}

export function Updated() {
  return (
    <Gate title="This console has been updated">
      <p>Reload the page to continue.</p>
      <button type="button" class="primary" onClick={() => location.reload()}>
        Reload
      </button>
    </Gate>
  );
}

export function NotFound() {
  return (
    <Gate title="This page does not exist">
      <p>
        <a href="/console/data">Go to the data</a>
      </p>
    </Gate>
  );
}
