import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { PageFrame, type PageFrameProps } from '../../kit/page-frame.tsx';
import { app } from '../data/schema.ts';
import { place, usePageTitle } from '../router.ts';

/** A section of a tab. */
export interface TabSection {
  /** The full path, such as `/console/webhooks/events`. Pages below a path belong to it. */
  path: string;
  label: string;
  count?: number | undefined;
}

/** A tab with several sections: their links beside the page, or above it on narrow screens. */
export function TabLayout({
  label,
  sections,
  children,
}: {
  label: string;
  sections: readonly TabSection[];
  children: ComponentChildren;
}) {
  const { path } = place.value;
  const [current] = sections
    .filter((one) => path === one.path || path.startsWith(`${one.path}/`))
    .toSorted((a, b) => b.path.length - a.path.length);
  const nav = useRef<HTMLElement>(null);
  useEffect(() => {
    // On a narrow screen the links are a row that may be wider than the screen.
    const link = nav.current?.querySelector<HTMLElement>('[aria-current]');
    if (nav.current && link)
      nav.current.scrollLeft = link.offsetLeft - (nav.current.clientWidth - link.offsetWidth) / 2;
  }, [current?.path]);
  return (
    <div class="layout with-sections">
      <nav class="sections" ref={nav} aria-label={label}>
        {sections.map((section) => (
          <a key={section.path} href={section.path} aria-current={section === current ? 'page' : undefined}>
            {section.label}
            {section.count !== undefined && section.count > 0 && <span class="badge-count">{section.count}</span>}
          </a>
        ))}
      </nav>
      <div class="content">{children}</div>
    </div>
  );
}

/** A page of a tab: its heading, what it is for, and its actions. It also names the page in the title of the document. */
export function Page(props: PageFrameProps) {
  usePageTitle(props.title, app.value.name);
  return <PageFrame {...props} />;
}
