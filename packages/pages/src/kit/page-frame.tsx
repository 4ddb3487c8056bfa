import type { ComponentChildren } from 'preact';
import { texts } from './texts.ts';

export interface PageFrameProps {
  title: string;
  /** What the page is for. */
  intro?: ComponentChildren;
  actions?: ComponentChildren;
  back?: { href: string; label: string } | undefined;
  children?: ComponentChildren;
}

/** The main part of a page: the way back, its heading, what it is for, and its actions. */
export function PageFrame({ title, intro, actions, back, children }: PageFrameProps) {
  return (
    <main id="main" class="page tab-page">
      {back && (
        <nav class="back" aria-label={texts.back}>
          <a href={back.href}>← {back.label}</a>
        </nav>
      )}
      <div class="page-head">
        <div>
          <h1 tabindex={-1}>{title}</h1>
          {intro && <p class="soft intro-line">{intro}</p>}
        </div>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {children}
    </main>
  );
}
