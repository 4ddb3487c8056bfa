import { useEffect, useRef, useState } from 'preact/hooks';
import { Dialog, openDialog } from '../../../kit/dialog.tsx';
import { isTyping } from '../../../kit/is-typing.ts';
import { navigate } from '../../router.ts';
import { texts } from '../../texts.ts';
import type { ResourceInfo, StoredRecord } from '../app-info.ts';
import { dataHref, viewer } from '../schema.ts';

interface Selection {
  /** The ids of the records. */
  selected: ReadonlySet<string>;
  /** Adds or removes a record; `isRange`: and all between it and the last one. */
  toggle: (id: string, isRange?: boolean) => void;
  toggleAll: (isSelected: boolean) => void;
  clear: () => void;
}

/** The ids of the selected records, and how clicks change them. */
export function useSelection(rows: readonly StoredRecord[] | undefined): Selection {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  const last = useRef<string>(undefined);
  const ids = rows?.map(({ id }) => id) ?? [];
  const toggle = (id: string, isRange = false) => {
    const at = ids.indexOf(id);
    const from = isRange && last.current !== undefined ? ids.indexOf(last.current) : at;
    const range = ids.slice(Math.max(0, Math.min(from, at)), Math.max(from, at) + 1);
    const next = new Set(selected);
    const isAdding = !selected.has(id);
    for (const one of range) isAdding ? next.add(one) : next.delete(one);
    last.current = id;
    setSelected(next);
  };
  return {
    selected,
    toggle,
    toggleAll: (all) => setSelected(new Set(all ? ids : [])),
    clear: () => setSelected(new Set()),
  };
}

const SHORTCUTS = [
  ['/', texts.list.shortcuts.search],
  ['j, ↓', texts.list.shortcuts.next],
  ['k, ↑', texts.list.shortcuts.previous],
  ['Enter', texts.list.shortcuts.open],
  ['x', texts.list.shortcuts.select],
  ['n', texts.list.shortcuts.new],
  ['Escape', texts.list.shortcuts.clear],
  ['?', texts.list.shortcuts.show],
];

/** Shows the keys of the list. */
export const showShortcuts = (): Promise<void> =>
  openDialog<void>(({ close }) => (
    <Dialog title={texts.list.shortcuts.title} onClose={close}>
      <dl class="shortcuts">
        {SHORTCUTS.map(([keys, text]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  ));

function moveFocus(step: number): void {
  const links = [...document.querySelectorAll<HTMLElement>('.row-link')];
  const focused = document.activeElement?.closest('tr');
  const current = links.findIndex((link) => link.closest('tr') === focused);
  const next = links[current === -1 ? (step > 0 ? 0 : links.length - 1) : current + step];
  next?.focus();
  next?.scrollIntoView({ block: 'nearest' });
}

/** The keys of the list. They do nothing while a control is used that takes keys itself. */
export function useShortcuts(resource: ResourceInfo, { toggle, clear }: Pick<Selection, 'toggle' | 'clear'>): void {
  const handle = (event: KeyboardEvent) => {
    if (isTyping(event)) return;
    const focused = document.activeElement?.closest<HTMLElement>('tr[data-id]')?.dataset.id;
    const actions: Record<string, () => unknown> = {
      j: () => moveFocus(1),
      ArrowDown: () => moveFocus(1),
      k: () => moveFocus(-1),
      ArrowUp: () => moveFocus(-1),
      '/': () => document.getElementById('search')?.focus(),
      x: () => focused && toggle(focused),
      n: () => viewer() === undefined && navigate(dataHref([resource.name, 'new'])),
      '?': showShortcuts,
      Escape: clear,
    };
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
    if (action === undefined) return;
    event.preventDefault();
    action();
  };
  const latest = useRef(handle);
  latest.current = handle;
  useEffect(() => {
    const listener = (event: KeyboardEvent) => latest.current(event);
    document.addEventListener('keydown', listener);
    return () => document.removeEventListener('keydown', listener);
  }, []);
}
