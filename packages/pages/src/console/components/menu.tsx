import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from '../../kit/icons.tsx';

/** A button that opens a panel below it. Escape and a click outside close the panel. */
export function Menu({
  label,
  icon,
  children,
  isEnd = false,
  badge = 0,
}: {
  label: string;
  icon?: IconName;
  /** A function gets `close`. */
  children: ComponentChildren | ((close: () => void) => ComponentChildren);
  /** Aligns the panel with the end of the button. */
  isEnd?: boolean;
  badge?: number;
}) {
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => setOpen(false);
  /** The control that was used is gone with the panel: a dialog that it opens returns the focus to the button. */
  const closeFromWithin = () => {
    close();
    button.current?.focus();
  };
  useEffect(() => {
    if (!isOpen) return undefined;
    const closeOutside = ({ target }: PointerEvent) => {
      if (target instanceof Node && !root.current?.contains(target) && target.isConnected) close();
    };
    document.addEventListener('pointerdown', closeOutside);
    return () => document.removeEventListener('pointerdown', closeOutside);
  }, [isOpen]);
  useLayoutEffect(() => {
    if (isOpen) root.current?.querySelector<HTMLElement>('.panel :is(input, select, button, a)')?.focus();
  }, [isOpen]);
  const handleKey = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !isOpen) return;
    event.stopPropagation();
    closeFromWithin();
  };
  return (
    <div class="menu" ref={root} onKeyDown={handleKey}>
      <button type="button" ref={button} aria-expanded={isOpen ? 'true' : 'false'} onClick={() => setOpen(!isOpen)}>
        {icon && <Icon name={icon} />}
        <span class="text">{label}</span>
        {badge > 0 && <span class="badge-count">{badge}</span>}
      </button>
      {isOpen && (
        <div class={`panel ${isEnd ? 'end' : ''}`} role="group" aria-label={label}>
          {typeof children === 'function' ? children(closeFromWithin) : children}
        </div>
      )}
    </div>
  );
}
