import type { ButtonHTMLAttributes } from 'preact';

// Paths of 16 × 16 icons, drawn with a stroke.
const PATHS = {
  add: 'M8 3v10M3 8h10',
  archive: 'M2.5 3h11v3h-11zM3.5 6v7h9V6M6.5 8.5h3',
  arrowDown: 'M8 3v10M4 9l4 4 4-4',
  arrowUp: 'M8 13V3M4 7l4-4 4 4',
  bolt: 'M9 1.5 3.5 9H8l-1 5.5L12.5 7H8z',
  check: 'M3 8.5 6.5 12 13 4.5',
  chevron: 'M6 3.5 10.5 8 6 12.5',
  close: 'M4 4l8 8M12 4l-8 8',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  dark: 'M13 9.5A5.5 5.5 0 0 1 6.5 3a5.5 5.5 0 1 0 6.5 6.5z',
  down: 'M4 6l4 4 4-4',
  download: 'M8 2.5v8M4.5 7 8 10.5 11.5 7M3 13.5h10',
  eye: 'M1.5 8S4 3.5 8 3.5 14.5 8 14.5 8 12 12.5 8 12.5 1.5 8 1.5 8zM8 6.2a1.8 1.8 0 1 0 0 3.6 1.8 1.8 0 0 0 0-3.6z',
  fit: 'M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10',
  filter: 'M2 3.5h12L9.5 9v4L6.5 14V9z',
  key: 'M10.5 2.5a3 3 0 1 1-2.6 4.5L3 12v2h2.5v-1.8H7v-1.8l2-1.9',
  light:
    'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6zM8 1.5v1.6M8 12.9v1.6M1.5 8h1.6M12.9 8h1.6M3.4 3.4l1.1 1.1M11.5 11.5l1.1 1.1M12.6 3.4l-1.1 1.1M4.5 11.5l-1.1 1.1',
  link: 'M6.5 9.5l3-3M7 4.5l1.5-1.5a3.2 3.2 0 0 1 4.5 4.5L11.5 9M9 11.5 7.5 13A3.2 3.2 0 0 1 3 8.5L4.5 7',
  lock: 'M3.5 7.5h9v6h-9zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  menu: 'M2.5 4h11M2.5 8h11M2.5 12h11',
  minus: 'M3 8h10',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  restore: 'M3 3.5v3.5h3.5M3.3 7A5 5 0 1 1 4.5 11.5',
  search: 'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.3 10.3 13.5 13.5',
  star: 'M8 2l1.8 3.8 4.2.5-3.1 2.9.8 4.1L8 11.2l-3.7 2.1.8-4.1L2 6.3l4.2-.5z',
  system: 'M2.5 3h11v8h-11zM5.5 13.5h5M8 11v2.5',
  trash: 'M3 4.5h10M6.5 4.5v-2h3v2M4.5 4.5l.6 9h5.8l.6-9M6.7 7v4M9.3 7v4',
  upload: 'M8 10.5v-8M4.5 6 8 2.5 11.5 6M3 13.5h10',
};

export type IconName = keyof typeof PATHS;

/** A decorative icon of any path that is drawn with a stroke on 16 × 16. */
export function DrawnIcon({ path, size = 16, kind = '' }: { path: string; size?: number; kind?: string }) {
  return (
    <svg class={`icon ${kind}`} width={size} height={size} viewBox="0 0 16 16" aria-hidden="true">
      <path d={path} />
    </svg>
  );
}

/** A decorative icon: the control that contains it has a text or an `aria-label`. */
export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return <DrawnIcon path={PATHS[name]} size={size} />;
}

/** A button that shows only an icon. */
export function IconButton({
  icon,
  label,
  ...attributes
}: { icon: IconName; label: string } & ButtonHTMLAttributes<HTMLButtonElement>) {
  return (
    <button type="button" class="icon-button" aria-label={label} title={label} {...attributes}>
      <Icon name={icon} />
    </button>
  );
}
